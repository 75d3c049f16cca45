"""The administrator's list of programs that may be MCP servers (``HEARTBIT_MCP_COMMANDS``).

Entries are ``name = command line``, separated by semicolons or line ends::

    time = /opt/mcp/bin/mcp-server-time; files = mcp-server-filesystem /srv/files

A workspace's server gives an entry's name and nothing else, so nobody who edits a workspace can
start another program, or give one other arguments. No shell reads the line.
"""

from __future__ import annotations

import re
import shlex

from heartbit_site.base.errors import ConfigurationError

_ENTRY = re.compile(r"\s*(?P<name>[a-z][a-z0-9_-]{0,63})\s*=\s*(?P<line>\S.*?)\s*")


def parse_commands(text: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each command line, by name.

    Raises:
        ConfigurationError: An entry cannot be read, or a name occurs twice.
    """
    commands: dict[str, tuple[str, ...]] = {}
    for entry in re.split(r"[;\n]", text):
        if not entry.strip():
            continue
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise ConfigurationError(
                f"HEARTBIT_MCP_COMMANDS: {entry.strip()!r} is not `name = command line`, with a "
                "name of lower-case letters, digits, - and _."
            )
        name = match["name"]
        if name in commands:
            raise ConfigurationError(f"HEARTBIT_MCP_COMMANDS: {name!r} occurs twice.")
        try:
            commands[name] = tuple(shlex.split(match["line"]))
        except ValueError as error:
            raise ConfigurationError(f"HEARTBIT_MCP_COMMANDS: {name}: {error}.") from None
    return commands
