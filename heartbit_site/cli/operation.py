"""Settling a quarantined run, here or through its server: one form for both. No Django."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from heartbit_site.cli.here_or_there import chosen

Settling = Literal["retry", "resume", "discard"]


class Operation(Protocol):
    """What an operator can do; the dictionaries are those of the REST API."""

    def settle(self, run: str, how: Settling) -> dict[str, Any]:
        """Settle a quarantine: ``run`` and ``status``, of the new run if there is one."""
        ...


def operation(url: str | None) -> Operation:
    """The server's, when one is named by option or environment; else this installation's."""
    found: Operation = chosen("operation", url)
    return found
