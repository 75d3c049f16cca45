"""The sandbox ``docker``: each program in a container of its own, over the engine's API.

The container has no network, a read-only root, no capability, a user without rights, and limits of
memory, processes and processor. Files and output travel as tar archives through its standard input
and output, because an engine copies nothing out of a file system in memory, and are parsed as
untrusted.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.installation import extra_command
from tools.sandbox import folder
from tools.sandbox.probe import has_held, probe, reason
from tools.sandbox.program import MEGABYTE, Ended, Ending, Limits, Program, SandboxError

if TYPE_CHECKING:
    from aiodocker import Docker as Engine
    from aiodocker.containers import DockerContainer


_USER: Final = "65534:65534"
_PLACE: Final = "/sandbox"
_START_SECONDS: Final = 15.0  # of the engine, beyond the program's own time
_SHARED_MEMORY: Final = 8 * MEGABYTE
_ENVIRONMENT: Final = (
    "PATH=/usr/local/bin:/usr/bin:/bin",
    f"HOME={_PLACE}/box",
    "TMPDIR=/tmp",
    "LANG=C.UTF-8",
    f"PYTHONPATH={_PLACE}/box",
)
_FILES: Final = {
    "python": ("main.py", ("python3", "-B", "-s")),
    "shell": ("main.sh", ("/bin/sh",)),
    "javascript": ("main.cjs", ("node",)),
    "typescript": ("main.mts", ("node", "--no-warnings", "--experimental-strip-types")),
}
# Arguments: bytes of the incoming archive, bytes of output to keep, the command.
_SCRIPT: Final = (
    f'cd {_PLACE} && head -c "$1" | tar -xf - && mkdir -p box && cd box || exit 125; '
    'keep=$2; shift 2; "$@" </dev/null >../code/out.whole 2>../code/err.whole; '
    "echo $? >../code/exit; cd ..; "
    'for one in out err; do head -c "$keep" code/$one.whole >code/$one; rm code/$one.whole; done; '
    "tar -cf - code/exit code/out code/err box"
)


# Settings of every container's host side; sizes are added for each program.
_WALLS: Final = {
    "NetworkMode": "none",
    "ReadonlyRootfs": True,
    "CapDrop": ["ALL"],
    "SecurityOpt": ["no-new-privileges:true"],
    "Privileged": False,
    "IpcMode": "private",
    "Init": True,
    "LogConfig": {"Type": "none"},
}


class Docker:
    """The sandbox ``docker``.

    Args:
        image: Name of an image with ``sh``, ``head``, ``tar`` and the languages; never pulled here.
        engine: Address of the engine; empty to find it as the command ``docker`` does.
    """

    name = "docker"

    def __init__(self, image: str, engine: str = "") -> None:
        self._image = image
        self._engine = engine

    async def problem(self) -> str | None:
        """See ``Sandbox.problem``."""
        try:
            async with self._connected() as engine:
                config = (await engine.images.inspect(self._image))["Config"]
            usual = [entry.partition("=")[0] for entry in config.get("Env") or ()]
            ended = await self.run(probe(usual=usual))
        except SandboxError as error:
            return str(error)
        if has_held(ended):
            return None
        return f"A container does not work ({reason(ended)})."

    async def run(self, program: Program) -> Ended:
        """See ``Sandbox.run``."""
        if program.hosts:
            raise SandboxError(
                "The sandbox docker has no network: use bubblewrap or remote for hosts."
            )
        began = time.monotonic()
        name, command = _FILES[program.language]
        files = {f"code/{name}": program.code.encode()}
        files |= {f"box/{path}": data for path, data in program.files.items()}
        archive = await asyncio.to_thread(folder.pack, files)
        words = [*command, f"{_PLACE}/code/{name}"]
        limits = program.limits
        most = str(limits.output_bytes + 1)
        script = ["/bin/sh", "-c", _SCRIPT, "sh", str(len(archive)), most, *words]
        async with self._connected() as engine:
            container = await engine.containers.create(_config(self._image, script, limits))
            try:
                output, ending = await _played(container, archive, limits)
            finally:
                await asyncio.shield(container.delete(force=True, v=True))
        return _ended(output, ending, limits, seconds=time.monotonic() - began)

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[Engine]:
        try:
            import aiodocker  # noqa: PLC0415  an extra
            import aiohttp  # noqa: PLC0415
        except ImportError:
            raise SandboxError(
                f"The sandbox docker needs the extra `docker`: `{extra_command('docker')}`."
            ) from None
        try:
            async with aiodocker.Docker(self._engine or None) as engine:
                yield engine
        except aiodocker.DockerError as error:
            raise SandboxError(f"The Docker engine refuses: {error.message}") from None
        # ValueError: the client finds no socket.
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError) as error:
            raise SandboxError(f"The Docker engine does not answer: {error}") from None


def _config(image: str, command: list[str], limits: Limits) -> dict[str, Any]:
    """Return a container's settings, as the engine's API takes them."""
    own = "rw,nosuid,nodev,mode=0700,uid=65534,gid=65534"
    return {
        "Image": image,
        "Cmd": command,
        "Entrypoint": [],
        "User": _USER,
        "WorkingDir": "/",
        "Env": list(_ENVIRONMENT),
        "Hostname": "sandbox",
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "NetworkDisabled": True,
        "Labels": {"heartbit": "sandbox"},
        "HostConfig": {
            **_WALLS,
            "Memory": limits.memory_bytes,
            "MemorySwap": limits.memory_bytes,
            "NanoCpus": 1_000_000_000,
            "PidsLimit": limits.processes,
            "ShmSize": _SHARED_MEMORY,
            "Tmpfs": {
                _PLACE: f"{own},exec,size={limits.disk_bytes + 2 * limits.output_bytes}",
                "/tmp": f"{own},size={limits.disk_bytes}",  # noqa: S108  the container's own
            },
            "Ulimits": [
                {"Name": "nofile", "Soft": 256, "Hard": 256},
                {"Name": "core", "Soft": 0, "Hard": 0},
                {"Name": "fsize", "Soft": limits.disk_bytes, "Hard": limits.disk_bytes},
            ],
        },
    }


async def _played(
    container: DockerContainer, archive: bytes, limits: Limits
) -> tuple[folder.Unpacked, Ending]:
    """Run a container; return the files that it wrote, or why it was stopped."""
    output = 2 * limits.output_bytes + 99
    found = folder.FolderReader(
        replace(
            limits,
            files=limits.files + 3,
            file_bytes=limits.file_bytes + output,
            disk_bytes=limits.disk_bytes + output,
        )
    )
    try:
        async with asyncio.timeout(_START_SECONDS) as timer:
            async with container.attach(stdin=True, stdout=True, stderr=True) as stream:
                await container.start()
                timer.reschedule(asyncio.get_running_loop().time() + limits.seconds)
                await stream.write_in(archive)
                while (message := await stream.read_out()) is not None:
                    if message.stream == 1 and not found.feed(message.data):
                        break
    except TimeoutError:
        return folder.Unpacked(is_complete=False), "out of time"
    return found.finish(), "exited"


def _ended(left: folder.Unpacked, ending: Ending, limits: Limits, *, seconds: float) -> Ended:
    found = left.files
    code = found.get("code/exit", b"").strip()
    if ending == "exited" and not code.isdigit():
        raise SandboxError(
            "The container did not run the program: it ended early or ran out of memory."
        )
    out, err = found.get("code/out", b""), found.get("code/err", b"")
    if max(len(out), len(err)) > limits.output_bytes:
        ending = "too much output"
    return Ended(
        code=int(code) if ending == "exited" else None,
        ending=ending,
        stdout=out[: limits.output_bytes].decode("utf-8", "replace"),
        stderr=err[: limits.output_bytes].decode("utf-8", "replace"),
        files={
            name.removeprefix("box/"): data
            for name, data in found.items()
            if name.startswith("box/") and ending == "exited" and left.is_complete
        },
        refused=tuple(one.replace("'box/", "'", 1) for one in left.refused),
        sandbox=Docker.name,
        seconds=seconds,
        is_complete=left.is_complete and ending == "exited",
    )
