"""Tasks of A2A: runs that no other run has started."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from agents.choices import TERMINAL, RunKind
from agents.delivery.task_states import artifact, content_parts, timestamp
from agents.errors import RunNotFoundError
from agents.models import Run, Wait
from agents.output.results import ResultOut
from agents.querysets import readable
from agents.reads.outcome import read_outcome
from heartbit_site.base.access import Access
from heartbit_site.doors.a2a.asks import data_of, text_of
from heartbit_site.doors.a2a.errors import INVALID_PARAMS, A2AError
from heartbit_site.doors.a2a.requests import ListRequest
from heartbit_site.doors.questions import DECIDE, OpenQuestion, inbox_of, open_questions
from heartbit_site.doors.runs import kept_with
from heartbit_site.operations.paging import page

#: States of tasks that have ended.
ENDED: Final = ("TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED")
#: States at which streams of a task end: it has ended, or waits for people.
RESTING: Final = (*ENDED, "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED")
_NAMES: Final = {"succeeded": "COMPLETED", "cancelled": "CANCELED"}
_MOST_COUNTED: Final = 10_000


def find_task(access: Access, agent: str, task_id: str) -> Run:
    """Return the run of a task.

    Args:
        access: The caller.
        agent: The agent whose task it is; empty: any.
        task_id: Its id.

    Raises:
        RunNotFoundError: The workspace, or the agent, has no such task.
    """
    try:
        wanted = UUID(task_id)
    except ValueError:
        found = None
    else:
        found = _tasks(access, agent).filter(pk=wanted).first()
    if found is None:
        raise RunNotFoundError(f"There is no task {task_id[:80]!r}.")
    return found


def _tasks(access: Access, agent: str) -> QuerySet[Run]:
    runs = Run.objects.filter(
        readable(access),
        workspace=access.workspace,
        parent__isnull=True,
        kind__in=[RunKind.AGENT, RunKind.WORKFLOW],
    )
    return runs.filter(agent=agent) if agent else runs


def list_tasks(access: Access, agent: str, wanted: ListRequest) -> dict[str, Any]:
    """Return a page of tasks, the newest first. Blocks."""
    rows = _tasks(access, agent).filter(_in_state(access, wanted.status))
    if wanted.context_id:
        try:
            rows = rows.filter(conversation=UUID(wanted.context_id))
        except ValueError:
            rows = rows.none()
    if wanted.status_timestamp_after is not None:
        changed = Coalesce("finished_at", "started_at", "created_at")
        rows = rows.annotate(changed=changed).filter(changed__gte=wanted.status_timestamp_after)
    found, following = page(rows, "-pk", wanted.page_token or None, wanted.page_size)
    has_history = wanted.history_length != 0
    tasks = [
        task_of(access, run, history=has_history, artifacts=wanted.include_artifacts)
        for run in found
    ]
    return {
        "tasks": tasks,
        "nextPageToken": following or "",
        "pageSize": wanted.page_size,
        "totalSize": rows.order_by()[:_MOST_COUNTED].count(),
    }


def _in_state(access: Access, state: str) -> Q:
    name = state.removeprefix("TASK_STATE_")
    asked = Exists(
        Wait.objects.filter(
            run__root=OuterRef("pk"),
            asks_person=True,
            resolved_at__isnull=True,
            run__finished_at__isnull=True,
        )
    )
    held = Q(status="queued", started_at__isnull=True)
    live = Q(finished_at__isnull=True) & ~held & Q(status__in=["queued", "running", "waiting"])
    none = Q(pk__in=[])
    states = {
        "UNSPECIFIED": Q(),
        "SUBMITTED": held,
        "WORKING": live & ~Q(asked),
        "INPUT_REQUIRED": live & Q(asked) if access.allows(DECIDE) else none,
        "AUTH_REQUIRED": none if access.allows(DECIDE) else live & Q(asked),
        "REJECTED": none,
        "COMPLETED": Q(status="succeeded"),
        "CANCELED": Q(status="cancelled"),
        "FAILED": Q(status__in=["failed", "quarantined"]),
    }
    if name not in states:
        raise A2AError(INVALID_PARAMS, f"There is no state {state[:80]!r}.")
    return states[name]


def task_of(
    access: Access, run: Run, *, history: bool = True, artifacts: bool = True
) -> dict[str, Any]:
    """Return a task as it is now. Blocks."""
    run.refresh_from_db()
    result = read_outcome(run.pk).result if run.status in TERMINAL else None
    asks = [] if result is not None else open_questions(access, run.pk)
    task: dict[str, Any] = {**_ids(run, "id"), "status": _status(access, run, result, asks)}
    if artifacts and result is not None and (result.text or result.structured is not None):
        task["artifacts"] = [artifact(content_parts(result))]
    if history:
        kept = kept_with(run.pk)
        sent = {"messageId": kept.get("messageId") or f"{run.pk}:task", "role": "ROLE_USER"}
        task["history"] = [{**sent, **_ids(run), "parts": [{"text": run.task}]}]
        if kept.get("metadata"):
            task["metadata"] = kept["metadata"]
    return task


def _ids(run: Run, name: str = "taskId") -> dict[str, Any]:
    context = {} if run.conversation_id is None else {"contextId": str(run.conversation_id)}
    return {name: str(run.pk), **context}


def _status(
    access: Access, run: Run, result: ResultOut | None, asks: list[OpenQuestion]
) -> dict[str, Any]:
    since = run.finished_at or run.started_at or run.created_at
    parts: list[dict[str, Any]] = []
    if result is not None:
        name = _NAMES.get(run.status, "FAILED")
        parts = [{"text": result.error}] if result.error else []
    elif asks:
        since = asks[0].since or since
        is_mine = access.allows(DECIDE) and not all(one.is_answered for one in asks)
        name = "INPUT_REQUIRED" if is_mine else "AUTH_REQUIRED"
        parts = [{"text": text_of(access, one)} for one in asks]
        if not is_mine:
            parts.append({"text": f"People decide at {inbox_of(access)}"})
        data = {"asks": [data_of(one) for one in asks]}
        parts.append({"data": data, "mediaType": "application/json"})
    else:
        is_held = run.status == "queued" and run.started_at is None
        name = "SUBMITTED" if is_held else "WORKING"
    status: dict[str, Any] = {"state": f"TASK_STATE_{name}", "timestamp": timestamp(since)}
    if parts:
        about = asks[0].key if asks else name.lower()
        sent = {"messageId": f"{run.pk}:{about}", "role": "ROLE_AGENT"}
        status["message"] = {**sent, **_ids(run), "parts": parts}
    return status
