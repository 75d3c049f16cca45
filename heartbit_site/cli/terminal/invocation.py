"""The shared options as this command was given them; `shared_options` fills them in. No Django."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


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
