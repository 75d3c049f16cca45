"""Updates of run trees, from the database or from a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from agents.live.updates import Update

Ending = Literal["ended", "left", "waits"]


class Stream(Protocol):
    """The updates of run trees, from the database or from a server."""

    def recorded(self, root: str) -> list[Update]:
        """Return what the journals of a tree hold by now."""
        ...

    def watch(self, root: str, *, plain: bool, leaves: bool) -> Ending:
        """Show a tree until all of its runs have ended, or the person leaves it.

        Args:
            root: The run at the top.
            plain: Write progress as lines.
            leaves: Leave when the tree can only wait for a person, and there is no terminal.
        """
        ...
