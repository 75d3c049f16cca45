"""A node of a workflow's run: its visits with input, output, retries and runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agents.journal.events import RecordedEvent
from agents.live.workflow_view import WorkflowView
from agents.models import Run
from agents.querysets import find_run
from agents.reads.hidden_memories import history_for, texts_of_run
from agents.runs.history import load_history
from agents.runtime.execution.workflows import read_input
from agents.workflows.contents import Contents, RunData
from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.state import GraphState, Visit
from heartbit_site.base.access import Access
from heartbit_site.base.amounts import duration
from heartbit_site.base.visible_text import visible
from heartbit_site.web.page import page

#: Visits that are shown, the last first.
MOST = 10
#: Words and class of each state; ``web/run/node-words.js`` has the words, too.
STATES = {
    "waiting": ("waiting", "neutral"),
    "running": ("running", "info"),
    "asks": ("asks a person", "warning"),
    "done": ("done", "success"),
    "failed": ("failed", "danger"),
    "skipped": ("skipped", "neutral"),
    "cancelled": ("cancelled", "warning"),
}


@dataclass(frozen=True, slots=True)
class NodeCall:
    """One call of a node.

    Attributes:
        runs: Id and agent of each run that it started.
        output: None while there is none.
    """

    superstep: str
    status: str
    took: str
    input: str
    retries: tuple[str, ...]
    runs: tuple[tuple[str, str], ...]
    output: str | None


@page("runs:read")
def node(request: HttpRequest, access: Access, run: UUID) -> HttpResponse:
    """Draw the node that ``?name`` names."""
    found, name = find_run(access, run), request.GET.get("name", "")
    journal = history_for(load_history(found), texts_of_run(access, found)).journal
    view = WorkflowView(found.pk, found.parent_id, found.agent, found.task)
    for recorded in journal:
        view.fold(recorded)
    part = view.snapshot().get(f"node {name}")
    visits = part["visits"] if part else 0
    context = {
        "name": visible(name),
        "state": STATES[part["state"]] if part else ("not reached", "neutral"),
        "visited": f"visited {'once' if visits == 1 else f'{visits} times'}" if visits else "",
        "retries": part["retries"] if part else 0,
        "calls": _calls(found, view, journal, name),
    }
    return render(request, "web/run/node.html", context)


def _calls(
    run: Run, view: WorkflowView, journal: Sequence[RecordedEvent], name: str
) -> list[NodeCall]:
    agents = dict(Run.objects.filter(root_id=run.root_id).values_list("pk", "agent"))
    calls = [one for one in view.calls.values() if one.tool == name and not one.parent]
    messages = _Messages(run, journal)
    return [
        NodeCall(
            superstep=call.call_id.partition(".")[0],
            status="running" if call.children and call.status == "waiting" else call.status,
            took=duration(call.duration_ms / 1000) if call.duration_ms else "",
            input=messages.input_of(call.call_id),
            retries=tuple(messages.retries.get(call.call_id, ())),
            runs=tuple((child, agents.get(UUID(child), child)) for child in call.children),
            output=messages.output_of(call.call_id, call.result),
        )
        for call in reversed(calls[-MOST:])
    ]


class _Messages:
    """All messages of a run, in the words of its journal; an artifact is its name.

    Attributes:
        retries: Errors after which a call was repeated.
    """

    def __init__(self, run: Run, journal: Sequence[RecordedEvent]) -> None:
        self.retries: dict[str, list[str]] = {}
        self._visits: dict[str, tuple[Visit, int]] = {}
        state = GraphState()
        for recorded in journal:
            match recorded.event:
                case GraphCommitted(next=activations):
                    for one in activations:
                        visit = Visit(one, [None] * len(one.call_ids), len(one.call_ids))
                        state.visits[one.id] = visit
                        self._visits |= {c: (visit, n) for n, c in enumerate(one.call_ids)}
                case NodeFinished(will_retry=True, error=error) as failed if error:
                    self.retries.setdefault(failed.call_id, []).append(visible(error.message))
                case NodeFinished(call_id=call_id) as result if call_id in self._visits:
                    visit, place = self._visits[call_id]
                    visit.results[place] = result
        data = RunData(read_input(run.task), read_artifact=lambda name: name)
        self._contents = Contents(state, data)

    def input_of(self, call_id: str) -> str:
        """Return what a call was given; empty if the journal no longer says it."""
        if call_id not in self._visits:
            return ""
        visit, place = self._visits[call_id]
        items = visit.activation.items
        try:
            if items is None:
                return _text(self._contents.of(visit.activation.message))
            return _text(self._contents.of(items)[place])
        except (KeyError, IndexError):
            return ""

    def output_of(self, call_id: str, result: str | None) -> str | None:
        """Return what a call gave; None if it has not ended."""
        visit, place = self._visits.get(call_id, (None, 0))
        ended = visit.results[place] if visit else None
        if ended is None:
            return result
        if ended.error:
            return visible(ended.error.message)
        return ended.artifact or _text(ended.output) or "nothing"


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return visible(text)
