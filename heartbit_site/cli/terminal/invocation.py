"""The shared options as this command was given them; `shared_options` fills them in. No Django."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final


@dataclass
class Invocation:
    """Shared options of the one command that this process runs.

    Attributes:
        url: The server that ``--url`` names; empty: this installation; None: it was not given.
        as_json: ``--json`` was given.
        workspace: The one that ``--workspace`` names; empty: it was not given.
        command: The command, such as `heartbit channels change`.
        options: The command's options and arguments, as a person types them, by parameter.
    """

    url: str | None = None
    as_json: bool = False
    workspace: str = ""
    command: str = ""
    options: dict[str, str] = field(default_factory=dict)


INVOCATION: Final = Invocation()


def as_json() -> bool:
    """Return True if the result is to be printed as JSON."""
    return INVOCATION.as_json
