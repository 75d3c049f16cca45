"""Servers and their tools, as a connection needs them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heartbit_site.base.toolspec import Effect


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """Address, or program, of a server.

    Attributes:
        id: Id of its row.
        url: For HTTP; empty for a program.
        words: The program and its arguments.
        headers: Headers that each request carries, credentials among them.
    """

    id: int
    name: str
    url: str = ""
    words: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """A server's tool as an agent was given it.

    Attributes:
        name: Its name in the workspace.
        remote_name: Its name at the server.
        hash: Hash of its definition.
    """

    name: str
    remote_name: str
    effect: Effect
    hash: str
