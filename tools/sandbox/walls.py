"""Arguments of bubblewrap: namespaces of its own, and the few directories that a program sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tools.sandbox.languages import DIRECTORY, Interpreter, python
from tools.sandbox.program import MEGABYTE, Limits
from tools.sandbox.way_out import way_out

FOLDER: Final = "/box"
INPUT: Final = f"{DIRECTORY}/input.tar"
SHELL: Final = f"{DIRECTORY}/sh"
_EXECUTE_ONLY: Final = "0111"  # the kernel closes the memory of who runs what it cannot read
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
        interpreter: Where the code lies inside.
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
    for name, value in _ENVIRONMENT.items():
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
    """Return the arguments that show the machine's programs, to be read only."""
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
