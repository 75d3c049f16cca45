"""Operate this installation, through its database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions.discard_run import discard_run
from agents.actions.retry_run import retry_run
from agents.actions.revive_run import revive_run
from agents.choices import Home
from agents.models import Run
from agents.querysets import find_run
from heartbit_site.cli.deciding import actor
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from heartbit_site.cli.operation import Settling


class Here:
    """See ``operation.Operation``."""

    def settle(self, run: str, how: Settling) -> dict[str, Any]:
        """Settle a quarantine: ``run`` and ``status``, of the new run if there is one."""
        found = find_run(default_workspace(), run)
        if how == "retry":
            retried = retry_run(found, by=actor(), home=Home(found.home))
            found = Run.objects.get(pk=retried)
        elif how == "resume":
            revive_run(found, by=actor())
        else:
            discard_run(found, by=actor())
        found.refresh_from_db(fields=["status"])
        return {"run": str(found.pk), "status": found.status, "home": found.home}
