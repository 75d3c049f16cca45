"""Operate this installation, through its database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction

from agents import pauses
from agents.actions.ask_worker import ask_worker
from agents.actions.pause_work import pause_work
from agents.actions.resume_work import resume_work
from agents.actions.switch_agent import switch_agent
from agents.agent_status import status_of, statuses
from agents.fleet import read_fleet
from agents.versions import find_editable
from heartbit_site.api import fleet_forms
from heartbit_site.base.audit import record
from heartbit_site.cli.deciding import actor
from heartbit_site.first_start import default_workspace
from heartbit_site.workspaces import find_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.cli.operation import Asked, Holdable, Switch


class Here:
    """See ``operation.Operation``."""

    def fleet(self) -> Mapping[str, Any]:
        """Workers, queues, totals and problems."""
        return fleet_forms.fleet(read_fleet())

    def ask(self, worker_id: int, wanted: Asked) -> None:
        """Ask a worker to leave."""
        ask_worker(worker_id, wanted, by=actor())

    def hold(self, what: Holdable, name: str, reason: str, *, place: str = "") -> dict[str, Any]:
        """Hold something back; whether that changed anything."""
        held = _held(what, name, place)
        changed = pause_work(held, by=actor(), reason=reason)
        return fleet_forms.held(held, now=True, changed=changed)

    def free(self, what: Holdable, name: str, *, place: str = "") -> dict[str, Any]:
        """Let it go on; whether that changed anything."""
        held = _held(what, name, place)
        return fleet_forms.held(held, now=False, changed=resume_work(held, by=actor()))

    def agents(self) -> list[dict[str, Any]]:
        """What every agent is doing."""
        return [fleet_forms.agent_status(found) for found in statuses(default_workspace())]

    def agent(self, name: str) -> dict[str, Any]:
        """What one agent is doing."""
        return fleet_forms.agent_status(status_of(default_workspace(), name))

    def switch(self, name: str, to: Switch) -> dict[str, Any]:
        """Start, stop or restart an agent; what it is doing then."""
        workspace = default_workspace()
        agent = find_editable(workspace, name)
        with transaction.atomic():
            if switch_agent(agent, to):
                target = f"agent:{agent.pk}"
                record(actor(), f"agent.{to}", workspace=workspace, target=target, label=agent.name)
        return self.agent(name)


def _held(what: Holdable, name: str, place: str) -> pauses.Held:
    if what == "queue":
        return pauses.queue(name)
    if what == "all":
        return pauses.EVERYTHING
    if what == "tool":
        return pauses.of_tool(name, find_workspace(place) if place else None)
    return pauses.of_workspace(find_workspace(name))
