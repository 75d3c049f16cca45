"""The installation's secret keys: from the environment, else made once in the state directory."""

from __future__ import annotations

import base64
import functools
import os
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from heartbit_site.base import variables
from heartbit_site.base.keyring import KEY_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.embedded.state import StateDirectory


def secret_key(state: StateDirectory) -> str:
    """HEARTBIT_SECRET_KEY, else the key kept (mode 0600) in the state directory."""
    given = variables.SECRET_KEY.read()
    return given or _kept(state, "secret_key", new=lambda: secrets.token_urlsafe(50))


def encryption_keys(state: StateDirectory) -> Callable[[], tuple[str, ...]]:
    """What reads the keys that encrypt stored secrets: in base64, the newest first.

    They are those of HEARTBIT_ENCRYPTION_KEYS (separated by commas), else those kept (mode 0600,
    one a line) in the state directory, where the first is made when the first secret is.

    Raises:
        ConfigurationError: HEARTBIT_ENCRYPTION_KEYS holds something that is no key.
    """
    given = variables.ENCRYPTION_KEYS.read()
    if given:
        return lambda: given
    return functools.partial(_kept_encryption_keys, state)


def _kept_encryption_keys(state: StateDirectory) -> tuple[str, ...]:
    return _words(_kept(state, "encryption_keys", new=_new_encryption_key))


def _new_encryption_key() -> str:
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


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
        os.fsync(file.fileno())  # what it encrypts must not outlive it after a power cut
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass  # another first start was quicker: its key is the installation's
    finally:
        Path(temporary).unlink()
    return path.read_text().strip()
