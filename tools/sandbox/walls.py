"""Arguments of bubblewrap: namespaces of its own, and the few directories that a program sees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.sandbox.languages import DIRECTORY, python
from tools.sandbox.program import MEGABYTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.sandbox.languages import Interpreter
    from tools.sandbox.program import Limits

FOLDER: Final = "/box"
INPUT: Final = f"{DIRECTORY}/input.tar"
#: Directories of every host that a program must not see.
HIDDEN: Final = ("/root", "/home", "/var", "/srv", "/mnt", "/etc/passwd", "/sys/kernel")

_SHARED_MEMORY: Final = 8 * MEGABYTE
#: Where a program that was granted hosts finds its proxy: the socket, and a port that leads to it.
PROXY: Final = f"{DIRECTORY}/proxy"
PROXY_PORT: Final = 3128
_PROXY_URL: Final = f"http://127.0.0.1:{PROXY_PORT}"
_NETWORK: Final = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _PROXY_URL),
    "NODE_USE_ENV_PROXY": "1",
}
#: Certificates of public authorities, for TLS.
_AUTHORITIES: Final = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted")
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
        interpreter: Where the code lies inside.
        files: Descriptors with the ``code``, the ``folder`` as an archive, and the ``filter``.
        limits: Of disk space.
        proxy: Socket that leads to the hosts of the program; None: it has no network.
    """
    space = str(limits.disk_bytes)
    words = [
        *("--unshare-all", "--unshare-user", "--disable-userns"),
        *("--uid", "65534", "--gid", "65534", "--hostname", "sandbox"),
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
    ]
    for name, value in {**_ENVIRONMENT, **(_NETWORK if proxy else {})}.items():
        words += ["--setenv", name, value]
    for place in _visible():
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), str(place)]
        else:
            words += ["--ro-bind", str(place), str(place)]
    if proxy is not None:
        for authorities in _AUTHORITIES:
            words += ["--ro-bind-try", authorities, authorities]
        words += ["--ro-bind", str(proxy), PROXY]
    return [
        *words,
        *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc"),
        *("--dev", "/dev", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"),  # noqa: S108
        *("--remount-ro", "/dev", "--size", space, "--tmpfs", "/tmp"),  # noqa: S108
        *("--size", space, "--tmpfs", FOLDER),
        *("--ro-bind-data", str(files["code"]), interpreter.file),
        *("--ro-bind-data", str(files["folder"]), INPUT),
        *("--seccomp", str(files["filter"]), "--remount-ro", "/", "--"),
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
