"""Weights by which agents recall; ``HEARTBIT_MEMORY_WEIGHTS`` names one for the memory app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from agents.models import Agent, Run
from heartbit_site.base.models import Workspace


def weights_of_run(run_id: UUID) -> Mapping[str, float]:
    """Return ``memory_weights`` of the version that a run is pinned to; empty: the usual ones."""
    found = Run.objects.filter(pk=run_id).values_list("version__snapshot", flat=True).first()
    return _weights(found)


def weights_of_agent(workspace: Workspace, name: str) -> Mapping[str, float]:
    """Return ``memory_weights`` of an agent's current version; empty: the usual ones."""
    agents = Agent.objects.filter(workspace=workspace, name=name, origin="")
    return _weights(agents.values_list("current_version__snapshot", flat=True).first())


def _weights(snapshot: Mapping[str, Any] | None) -> Mapping[str, float]:
    weights: Mapping[str, float] = (snapshot or {}).get("memory_weights", {})
    return weights
