"""What is done with each server: its tools are read, and called as a model would."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heartbit_site.base.pictures import WithPictures
from tests.fleet import wait_until
from tests.interop import installed
from tests.mcp.servers import connected, listens, pinned
from tools.mcp.errors import McpToolError
from tools.mcp.own_tools import GET_PROMPT, LIST_PROMPTS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from tools.mcp.connection import McpConnection
    from tools.mcp.endpoints import McpEndpoint

SECONDS = 60.0
USER = 50_001  # of the processes of the endpoint 1, if root starts them


class Drive:
    """A connection, and the number of calls that it was used for."""

    def __init__(self, connection: McpConnection) -> None:
        self.connection = connection
        self.calls = 0

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool."""
        self.calls += 1
        wanted = pinned(self.connection, tool)
        key = f"interop:{self.calls}"
        answer = await self.connection.call(wanted, arguments, key=key, seconds=SECONDS)
        if isinstance(answer, WithPictures):
            return answer.text
        assert isinstance(answer, str)
        return answer

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that has to refuse; its sentence."""
        try:
            answer = await self.call(tool, **arguments)
        except McpToolError as error:
            return str(error)
        raise AssertionError(f"{tool} answered {answer[:200]}")


async def time(drive: Drive) -> None:
    """`mcp-server-time`."""
    assert "Europe/Berlin" in await drive.call("get_current_time", timezone="Europe/Berlin")
    converted = await drive.call(
        "convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"
    )
    assert "21:00" in converted
    assert "Mars" in await drive.refused("get_current_time", timezone="Mars/Base")


async def git(drive: Drive, place: str) -> None:
    """`mcp-server-git`."""
    assert "notes.txt" in await drive.call("git_status", repo_path=place)
    await drive.call("git_add", repo_path=place, files=["notes.txt"])
    await drive.call("git_commit", repo_path=place, message="Add notes")
    assert "Add notes" in await drive.call("git_log", repo_path=place, max_count=1)
    await drive.refused("git_log", repo_path="/etc")


async def fetch(drive: Drive, page: str) -> None:
    """`mcp-server-fetch`."""
    assert "Nine to five" in await drive.call("fetch", url=page, raw=True)
    await drive.refused("fetch", url="http://127.0.0.1:9/")


async def files(drive: Drive, place: str) -> None:
    """`server-filesystem`."""
    await drive.call("write_file", path=f"{place}/a.txt", content="Grüße")
    assert "Grüße" in await drive.call("read_text_file", path=f"{place}/a.txt")
    assert "a.txt" in await drive.call("list_directory", path=place)
    assert "outside" in await drive.refused("read_text_file", path="/etc/passwd")


async def everything(drive: Drive) -> None:
    """`server-everything`."""
    assert "hello" in await drive.call("echo", message="hello")
    assert "12" in await drive.call("get-sum", a=5, b=7)
    assert "image/png" in await drive.call("get-tiny-image")
    assert "temperature" in await drive.call("get-structured-content", location="Chicago")
    assert "resource" in await drive.call(
        "get-resource-reference", resourceType="Text", resourceId=1
    )
    assert await drive.call("get-annotated-message", messageType="error", includeImage=True)
    await drive.call("trigger-long-running-operation", duration=1, steps=2)
    await drive.refused("get-sum", a="five", b=7)
    assert "simple-prompt" in await drive.call(LIST_PROMPTS)
    assert await drive.call(GET_PROMPT, name="simple-prompt")
    weather = {"city": "Bergen"}
    assert "Bergen" in await drive.call(GET_PROMPT, name="args-prompt", arguments=weather)
    await drive.refused(GET_PROMPT, name="no-such-prompt")


async def driven(
    endpoint: McpEndpoint, steps: Callable[[Drive], Awaitable[None]]
) -> dict[str, Any]:
    """Connect, drive, and return the calls that were made and what went wrong."""
    drive: Drive | None = None
    try:
        async with connected(endpoint, SECONDS) as connection:
            drive = Drive(connection)
            await steps(drive)
            found = connection.facts | {"tools": len(connection.offer.tools)}
    except Exception as error:  # noqa: BLE001  whatever went wrong is the result
        calls = 0 if drive is None else drive.calls
        return {"calls": calls, "pass": False, "error": f"{type(error).__name__}: {error}"[:500]}
    return {"calls": drive.calls, "pass": True, **found}


@contextmanager
def place() -> Iterator[str]:
    """A directory that the servers' user may write."""
    folder = tempfile.mkdtemp(prefix="interop")
    try:
        if os.geteuid() == 0:
            os.chown(folder, USER, USER)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def repository() -> Iterator[str]:
    """A git repository with a file that is not committed."""
    with place() as folder:
        user = {"user": USER, "group": USER} if os.geteuid() == 0 else {}
        environment = {"HOME": folder, "PATH": os.environ["PATH"]}
        for words in (
            "init -q",
            "config user.name Ada",
            "config user.email ada@example.com",
            "commit -q --allow-empty -m Begin",
        ):
            subprocess.run(["git", *words.split()], cwd=folder, check=True, env=environment, **user)  # type: ignore[call-overload]
        note = Path(folder) / "notes.txt"
        note.write_text("Notes")
        if user:
            os.chown(note, USER, USER)
        yield folder


@contextmanager
def page() -> Iterator[str]:
    """A web page on this machine."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html><body><article><p>Nine to five</p></article></body></html>"
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hours"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def everything_over_http() -> Iterator[str]:
    """`server-everything` over Streamable HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = installed.node_server("server-everything", "streamableHttp")
    with ExitStack() as stack:
        quiet = stack.enter_context(open(os.devnull, "wb"))  # noqa: PTH123
        process = subprocess.Popen(
            words, env={**os.environ, "PORT": str(port)}, stdout=quiet, stderr=quiet
        )
        try:
            wait_until(lambda: listens(port), seconds=60, what="server-everything")
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()
            process.wait()
