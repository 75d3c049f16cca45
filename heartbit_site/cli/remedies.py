"""The commands that stand for addresses of the API in what a terminal shows.

Errors name a remedy as programs have it ("GET /agents lists them"), here and at a server. A person
at a terminal reads the command that does the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

#: By address, as the contract writes it.
COMMANDS: Final[Mapping[str, str]] = {
    "GET /agents": "`heartbit agents list`",
    "GET /agents/{name}": "`heartbit agents show {name}`",
    "GET /approvals": "`heartbit approve`",
    "GET /channels": "`heartbit channels list`",
    "GET /deliveries": "`heartbit deliveries`",
    "GET /fleet": "`heartbit fleet`",
    "GET /keys": "`heartbit keys list`",
    "GET /members": "`heartbit users list`",
    "GET /messages": "`heartbit inbox AGENT --json`",
    "GET /runs": "`heartbit status`",
    "GET /tools": "`heartbit tools`",
    "GET /waits": "`heartbit answer`",
    "GET /webhooks": "the page Webhooks of the admin",
    "POST /workspace/resume": "the API",
}
_ADDRESS: Final = re.compile(r"\b(?:GET|POST) /[\w/.{}-]*\w")
_PATTERNS: Final = {
    re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(address))): command
    for address, command in COMMANDS.items()
}


def for_terminal(sentence: str) -> str:
    """Return a sentence with commands instead of the API's addresses, where there is a command."""
    return _ADDRESS.sub(lambda found: _command(found[0]), sentence)


def _command(address: str) -> str:
    for pattern, command in _PATTERNS.items():
        found = pattern.fullmatch(address)
        if found is not None:
            return command.format(**found.groupdict())
    return address
