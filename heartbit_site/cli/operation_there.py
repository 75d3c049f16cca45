"""Operate an installation through its server. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.cli.remote_client import post
from heartbit_site.cli.remote_runs import path_of

if TYPE_CHECKING:
    from heartbit_site.cli.operation import Settling
    from heartbit_site.cli.remote import Server


class There:
    """See ``operation.Operation``; one connection a question, so that a server may restart."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def settle(self, run: str, how: Settling) -> dict[str, Any]:
        """Settle a quarantine: ``run`` and ``status``, of the new run if there is one."""
        found: dict[str, Any] = post(self._server, f"{path_of(run)}/{how}", None)
        return found
