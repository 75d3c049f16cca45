"""The installation's secret keys: from the environment, else made once in the state directory."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heartbit_site.embedded.state import StateDirectory


def secret_key(state: StateDirectory) -> str:
    """HEARTBIT_SECRET_KEY, else the key kept (mode 0600) in the state directory."""
    given = os.environ.get("HEARTBIT_SECRET_KEY")
    if given:
        return given
    path = state.path / "secret_key"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return _create(state, path)


def _create(state: StateDirectory, path: Path) -> str:
    state.path.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=state.path)  # mkstemp makes it 0600
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(50))
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass  # another first start was quicker: its key is the installation's
    finally:
        Path(temporary).unlink()
    return path.read_text().strip()
