"""The part of the Docker engine's API that the sandbox speaks, as an engine of API 1.47 answers it.

There is no engine where these tests run: the answers are those of the API's documentation. A
container's command is played by the machine's own shell, without any walls, below a folder of its
own; so the script that the sandbox sends is really run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

IMAGE = "heartbit/sandbox:1"


@dataclass
class Engine:
    """What was asked of it.

    Attributes:
        created: Settings of the containers that were created.
        deleted: Queries of the requests that deleted containers.
        refuses: The sentence that a start is answered with; empty: it starts.
        forged: Standard output in place of the command's; None: its own.
    """

    place: Path
    url: str = ""
    created: list[dict[str, Any]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    refuses: str = ""
    forged: bytes | None = None
    _input: asyncio.StreamReader | None = None
    _output: asyncio.StreamWriter | None = None
    _processes: list[asyncio.subprocess.Process] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await self._one(reader, writer):
                pass
        if writer is not self._output:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split(" ", 2)
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1]) if length else 0)
        path = re.sub(r"^/v[\d.]+", "", target)
        if "/attach" in path:
            writer.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
            self._input, self._output = reader, writer
            return False
        status, answer = await self._answered(method, path, body)
        text = json.dumps(answer).encode() if answer is not None else b""
        lines = [f"HTTP/1.1 {status} x", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(text)}", "", ""]
        writer.write("\r\n".join(lines).encode() + text)
        return True

    async def _answered(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        match method, path.split("/")[1:]:
            case "GET", ["version"]:
                return 200, {"ApiVersion": "1.47"}
            case "GET", ["images", *name, "json"] if "/".join(name) == IMAGE:
                return 200, {"Config": {"Env": ["PATH=/usr/bin", "GPG_KEY=A035"]}}
            case "POST", ["containers", "create"]:
                asked = json.loads(body)
                if asked["Image"] != IMAGE:
                    return 404, {"message": f"No such image: {asked['Image']}"}
                self.created.append(asked)
                return 201, {"Id": "c0ffee", "Warnings": []}
            case "GET", ["containers", "c0ffee", "json"]:
                return 200, {"Id": "c0ffee", "Config": {"Tty": False}}
            case "POST", ["containers", "c0ffee", "start"]:
                if self.refuses:
                    return 500, {"message": self.refuses}
                self._playing = asyncio.create_task(self._play(self.created[-1]))
                return 204, None
            case "DELETE", ["containers", rest]:
                self.deleted.append(rest)
                await self.end()
                return 204, None
        return 404, {"message": f"No such image: {path}"}

    async def _play(self, settings: dict[str, Any]) -> None:
        assert self._input is not None
        assert self._output is not None
        place = str(self.place)
        command = [word.replace("/sandbox", place) for word in settings["Cmd"]]
        variables = [entry.replace("/sandbox", place) for entry in settings["Env"]]
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=dict(entry.split("=", 1) for entry in variables),
            start_new_session=True,
        )
        self._processes.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(await self._input.readexactly(int(command[4])))
        output = await process.stdout.read()
        if self.forged is not None:
            output = self.forged
        with contextlib.suppress(ConnectionError):
            for at in range(0, len(output), 8_192):
                piece = output[at : at + 8_192]
                self._output.write(struct.pack(">BxxxL", 1, len(piece)) + piece)
            self._output.write(struct.pack(">BxxxL", 2, 5) + b"noise")
            self._output.close()

    async def end(self) -> None:
        """End what still runs."""
        if self._output is not None:
            self._output.close()
        for process in self._processes:
            if process.returncode is None:
                process.kill()
                await process.wait()


@contextlib.asynccontextmanager
async def engine(place: Path) -> AsyncIterator[Engine]:
    """An engine on a Unix socket."""
    folder = place / "container"
    folder.mkdir()
    own = Engine(folder, f"unix://{place}/engine.sock")
    server = await asyncio.start_unix_server(own.serve, place / "engine.sock")
    try:
        yield own
    finally:
        await own.end()
        server.close()
        await asyncio.sleep(0)  # for connections that are closing
