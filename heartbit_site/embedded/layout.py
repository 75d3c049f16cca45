"""Creation of the directories and files of a state directory.

The state directory and its parents get a mode only when they are created here; existing directories
outside or above it are left unchanged.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from heartbit_site.embedded.errors import EmbeddedError, os_errors

if TYPE_CHECKING:
    from heartbit_site.embedded.identity import ServerUser
    from heartbit_site.embedded.state import StateDirectory


def create(state: StateDirectory) -> None:
    """Make sure that the state directory exists and belongs to the caller.

    Raises:
        EmbeddedError: The path is unusable, belongs to another user or is not writable.
    """
    state.check()
    # Root's server user must be able to pass through, but not to list.
    mode = 0o700 if os.geteuid() else 0o711
    with os_errors(state.path):
        for directory in (*reversed(state.path.parents), state.path):
            _create_missing(directory, mode)
        owner = state.path.stat().st_uid
        if owner == os.geteuid():
            make(state.path / "log", 0o700)
    if owner != os.geteuid():
        raise EmbeddedError(
            f"The state directory {state.path} belongs to the user id {owner} and you are "
            f"{os.geteuid()}: run as its owner, or set HEARTBIT_STATE_DIR to one of your own."
        )


def prepare(state: StateDirectory, user: ServerUser) -> None:
    """Create the directories that the servers need.

    Raises:
        EmbeddedError: The server user cannot reach the state directory.
        OSError: A directory cannot be created.
    """
    user.require_traversable(state.path)
    for name in ("bin", "data", "etc"):
        make(state.path / name, 0o711 if user.separate else 0o700)
    # The servers bind their sockets here; the sticky bit keeps the owner's files the owner's.
    make(state.run, 0o1770 if user.separate else 0o700, gid=user.gid)


def make(directory: Path, mode: int, *, uid: int = -1, gid: int = -1) -> None:
    """Create a directory inside the state directory, or repair one left by an interrupted start.

    Args:
        directory: Its parent belongs to the caller, so no other user can have put a link in its
            place.
        mode: Its permissions.
        uid: Its owner; -1 for the caller.
        gid: Its group; -1 for the caller's.
    """
    directory.mkdir(exist_ok=True)
    os.chown(directory, uid, gid)
    directory.chmod(mode)


def write_config(path: Path, text: str, user: ServerUser) -> None:
    """Write a configuration file that the server user can read but, as another user, not change."""
    path.write_text(text)
    path.chmod(0o644 if user.separate else 0o600)


def _create_missing(directory: Path, mode: int) -> None:
    try:
        directory.mkdir()
    except FileExistsError:
        return
    except OSError:
        # On a read-only or closed parent, mkdir fails before it checks whether the name exists.
        if not directory.is_dir():
            raise
    else:
        directory.chmod(mode)
