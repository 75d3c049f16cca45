"""The installation's secret keys: from the environment, else generated in the state directory."""

from __future__ import annotations

import base64
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from heartbit_site.base import variables
from heartbit_site.base.keyring import KEY_BYTES

if TYPE_CHECKING:
    from heartbit_site.embedded.state import StateDirectory


def secret_key(state: StateDirectory) -> str:
    """Return HEARTBIT_SECRET_KEY, else the key kept (mode 0600) in the state directory."""
    given = variables.SECRET_KEY.read()
    return given or _kept(state, "secret_key", new=lambda: secrets.token_urlsafe(50))


def encryption_keys(state: StateDirectory) -> Callable[[], tuple[str, ...]]:
    """Return a function that reads the keys of stored secrets: in base64, newest first.

    The keys are those of HEARTBIT_ENCRYPTION_KEYS (separated by commas), else those kept (mode
    0600, one a line) in the state directory, where the first one is generated with the first
    secret.

    Raises:
        ConfigurationError: HEARTBIT_ENCRYPTION_KEYS holds a text that is not a key.
    """
    given = variables.ENCRYPTION_KEYS.read()

    def kept() -> tuple[str, ...]:
        text = _kept(state, "encryption_keys", new=_new_encryption_key)
        return tuple(text.replace(",", " ").split())

    return (lambda: given) if given else kept


def _new_encryption_key() -> str:
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def _kept(state: StateDirectory, name: str, *, new: Callable[[], str]) -> str:
    path = state.path / name
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return _create(state, path, new())


def _create(state: StateDirectory, path: Path, content: str) -> str:
    state.path.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=state.path)  # mkstemp makes it 0600
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # a power cut must not leave secrets without their key
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass  # another process was quicker: its key is the installation's
    finally:
        Path(temporary).unlink()
    return path.read_text().strip()
