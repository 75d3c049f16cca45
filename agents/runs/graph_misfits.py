"""Misfits of a workflow's journal and another version of the workflow."""

from __future__ import annotations

from collections.abc import Sequence

from agents.journal.events import RecordedEvent
from agents.loop.workflow.state import WorkflowState
from agents.models import AgentVersion
from agents.workflows.graph import Graph, compile_graph
from agents.workflows.misfits import find_misfits
from agents.workflows.spec.graph import read_graph


def misfits_of(
    journal: Sequence[RecordedEvent], current: AgentVersion, other: AgentVersion
) -> list[str]:
    """Return why a run with this journal cannot continue with another version; empty: it can."""
    state = state_after(journal)
    return find_misfits(_graph_of(current), _graph_of(other), state.graph)


def state_after(journal: Sequence[RecordedEvent]) -> WorkflowState:
    """Return the state of a workflow's run after these events."""
    state = WorkflowState.begin(())
    for recorded in journal:
        state.fold(recorded)
    return state


def _graph_of(version: AgentVersion) -> Graph:
    return compile_graph(read_graph(version.snapshot))
