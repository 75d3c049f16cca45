"""The shared options as this command was given them; `shared_options` fills them in. No Django."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.cli.backend import Backend


@dataclass
class Invocation:
    """Shared options of the one command that this process runs.

    Attributes:
        url: The server that ``--url`` names; empty: this installation; None: it was not given.
        as_json: ``--json`` was given.
        workspace: The one that ``--workspace`` names; empty: it was not given.
    """

    url: str | None = None
    as_json: bool = False
    workspace: str = ""


INVOCATION: Final = Invocation()


def as_json() -> bool:
    """Return True if the result is to be printed as JSON."""
    return INVOCATION.as_json


def backend(file: Path | None = None, *, reads_only: bool = False) -> Backend:
    """Return what does the command's operations: the server that is named, or this installation.

    Args:
        file: What ``--config`` names, for a command that has its own.
        reads_only: As for ``ensure_ready``.

    Raises:
        ConfigurationError: As for ``remote.server`` and ``ensure_ready``.
        EmbeddedError: As for ``ensure_ready``.
    """
    from heartbit_site.cli.backend import backend_for  # noqa: PLC0415  it imports pydantic

    return backend_for(INVOCATION.url, file, reads_only=reads_only)
