"""Conversations and what was said on them as the JSON of responses.

A message is a run of the thread (ADR 0006). Its steps are read from the run's journal: they are
what the page showed while it streamed.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agents.choices import RunStatus
from agents.events import CallWaiting, ModelAnswered, RunSteered, ToolFinished
from agents.models import Conversation, Run, RunEvent, ToolCall
from heartbit_site.api import forms
from heartbit_site.base.markdown import to_html
from heartbit_site.operations.run_views import costs_of
from heartbit_site.operations.threads import heading_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from heartbit_site.operations.run_views import Costs

_LONGEST = 20_000  # characters of one call's arguments or result: the run has all of it
_TASK = 300  # characters of a sub-agent's task
_HELD_FROM = 9000  # a message is held by being due in a year after this
_STEPS = (ModelAnswered.type, CallWaiting.type, RunSteered.type)


def row(conversation: Any) -> dict[str, Any]:
    """A conversation that ``threads.with_activity`` gave."""
    return {
        **forms.conversation(conversation),
        "heading": heading_of(conversation.title, conversation.first_task),
        "active_at": forms.time(conversation.active_at),
        "status": conversation.last_status,
    }


def messages(conversation: Conversation, *, before: UUID | None, limit: int) -> dict[str, Any]:
    """The last messages, or those before a run of the thread, the oldest first."""
    runs = Run.objects.filter(conversation=conversation, parent__isnull=True)
    if before is not None:
        runs = runs.filter(created_at__lt=runs.filter(pk=before).values("created_at")[:1])
    page = list(runs.order_by("-created_at")[: limit + 1])
    more, page = len(page) > limit, page[:limit][::-1]
    trees = _by_root(page)
    costs = costs_of(run for tree in trees.values() for run in tree)
    steps = _steps(page, trees)
    return {
        "messages": [_message(run, trees[run.pk], costs, steps[run.pk]) for run in page],
        "before": str(page[0].pk) if more else None,
    }


def _by_root(page: list[Run]) -> dict[UUID, list[Run]]:
    found: dict[UUID, list[Run]] = {run.pk: [run] for run in page}
    helpers = Run.objects.filter(root__in=found, parent__isnull=False).defer("output", "payload")
    for run in helpers.order_by("created_at", "id"):
        found[run.root_id].append(run)
    return found


def _message(
    run: Run, tree: list[Run], costs: Costs, steps: list[dict[str, Any]]
) -> dict[str, Any]:
    answer = run.output
    last = steps[-1] if steps else {}
    if last.get("kind") == "text" and last["text"] == answer:
        steps = steps[:-1]  # it is the answer
    paid = [costs[one.pk] for one in tree]
    known = [one for one in paid if one is not None]
    is_queued = run.status == RunStatus.QUEUED
    return {
        "run": str(run.pk),
        "status": run.status,
        "held": is_queued and run.available_at.year > _HELD_FROM,
        "text": run.task,
        "started_by": run.started_by,
        "created_at": forms.time(run.created_at),
        "finished_at": forms.time(run.finished_at),
        "steps": steps,
        "answer": answer,
        "html": to_html(answer or ""),
        "structured": run.structured,
        "error": run.error,
        "model": run.model,
        "usage": {
            "input_tokens": sum(one.input_tokens for one in tree),
            "output_tokens": sum(one.output_tokens for one in tree),
        },
        "cost_usd": forms.money(sum(known, Decimal(0))) if len(known) == len(paid) else None,
    }


def _steps(page: list[Run], trees: dict[UUID, list[Run]]) -> dict[UUID, list[dict[str, Any]]]:
    """By run: what was said and called before the answer."""
    ids = [run.pk for run in page]
    helpers = {str(run.pk): run for tree in trees.values() for run in tree}
    calls: dict[UUID, dict[str, ToolCall]] = defaultdict(dict)
    for call in ToolCall.objects.filter(run__in=ids):
        calls[call.run_id][call.call_id] = call
    took = _durations(ids)
    found: dict[UUID, list[dict[str, Any]]] = {run_id: [] for run_id in ids}
    by_call: dict[tuple[UUID, str], dict[str, Any]] = {}
    events = RunEvent.objects.filter(run__in=ids, type__in=_STEPS).order_by("run_id", "seq")
    for event in events:
        if event.type == CallWaiting.type:
            by_call[event.run_id, event.payload["call_id"]]["helpers"] = [
                _helper(helpers[run_id])
                for _, _, run_id in (key.partition(":") for key in event.payload["keys"])
                if run_id in helpers
            ]
            continue
        if event.type == RunSteered.type:
            found[event.run_id].append(_steer(event))
            continue
        text = event.payload["message"]["text"]
        if text:
            found[event.run_id].append({"kind": "text", "text": text, "html": to_html(text)})
        for step in _calls(event, calls[event.run_id], took):
            by_call[event.run_id, step["call"]] = step
            found[event.run_id].append(step)
    return found


def _durations(ids: Iterable[UUID]) -> dict[tuple[UUID, str], int]:
    finished = RunEvent.objects.filter(run__in=ids, type=ToolFinished.type)
    rows = finished.values_list("run_id", "payload__call_id", "payload__duration_ms")
    return {(run_id, call_id): duration for run_id, call_id, duration in rows}


def _calls(
    event: RunEvent, calls: dict[str, ToolCall], took: dict[tuple[UUID, str], int]
) -> list[dict[str, Any]]:
    """The calls of one answer; ours are named ``turn.index``."""
    names = [
        f"{event.payload['turn']}.{index}"
        for index in range(len(event.payload["message"]["tool_calls"]))
    ]
    return [
        {
            "kind": "call",
            "call": call.call_id,
            "tool": call.tool,
            "arguments": call.arguments[:_LONGEST],
            "status": call.status,
            "result": call.result[:_LONGEST] if call.result is not None else None,
            "duration_ms": took.get((event.run_id, call.call_id)),
            "helpers": [],
        }
        for call in (calls[name] for name in names if name in calls)
    ]


def _helper(run: Run) -> dict[str, Any]:
    return {
        "run": str(run.pk),
        "agent": run.agent,
        "task": run.task[:_TASK],
        "status": run.status,
    }


def _steer(event: RunEvent) -> dict[str, Any]:
    return {
        "kind": "steer",
        "text": event.payload["text"],
        "by": event.payload.get("by", ""),
        "at": forms.time(event.at),
    }
