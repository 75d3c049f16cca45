"""Location of the server programs: in the wheels, or in a copy for the server user of root."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from heartbit_site.base import installation
from heartbit_site.embedded.errors import EmbeddedError

if TYPE_CHECKING:
    from heartbit_site.embedded.identity import ServerUser
    from heartbit_site.embedded.state import StateDirectory

_UNNEEDED: Final = {".a", ".py", ".pyc"}


def module_directory(module: str) -> Path | None:
    """Return the directory of an installed package without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def provide(distribution: str, state: StateDirectory, user: ServerUser) -> Path:
    """Return the package directory of a wheel's programs that `user` can execute.

    As root that is a copy (of hard links where possible) under the state directory, created once
    per version: the virtual environment may lie in a private directory, which stays private.

    Raises:
        EmbeddedError: The wheel is not installed.
        OSError: The copy cannot be created.
    """
    module = distribution.replace("-", "_")
    package = module_directory(module)
    if package is None:
        raise EmbeddedError(
            f"The package {distribution} is not installed: install it with "
            f"`{installation.base_command()}`, or set DATABASE_URL and REDIS_URL to servers of "
            "your own."
        )
    if not user.separate:
        return package
    parent = state.path / "bin"
    copy = parent / f"{distribution}-{importlib.metadata.version(distribution)}"
    if not copy.exists():
        # The caller holds the server's lock, so nothing runs from an older version's copy.
        for older in parent.glob(f"{distribution}-*"):
            shutil.rmtree(older)
        unfinished = parent / f"{distribution}-unfinished"
        unfinished.mkdir()
        try:
            _copy_programs(package, unfinished / module)
        except OSError:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        unfinished.rename(copy)
    return copy / module


def _copy_programs(package: Path, target: Path) -> None:
    _copy(package, target)
    # The programs find their libraries by a path relative to themselves.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        _copy(libraries, target.with_name(libraries.name))
    for directory in (target.parent, *target.parent.rglob("*/")):
        # Independent of the umask.
        directory.chmod(0o755)


def major_version(distribution: str) -> str:
    """Return the first number of an installed distribution's version."""
    return importlib.metadata.version(distribution).partition(".")[0]


def _copy(source: Path, target: Path) -> None:
    for path in source.rglob("*"):
        relative = path.relative_to(source)
        if path.is_file() and path.suffix not in _UNNEEDED and "include" not in relative.parts:
            copy = target / relative
            copy.parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(path, copy)


def _link_or_copy(source: Path, target: Path) -> None:
    mode = 0o755 if os.access(source, os.X_OK) else 0o644
    # A link costs nothing, but shares its mode with the original, which must not change.
    if source.stat().st_mode & mode == mode:
        # Refused between file systems, for instance; any other error also fails the copy.
        with contextlib.suppress(OSError):
            os.link(source, target)
            return
    shutil.copyfile(source, target)
    target.chmod(mode)
