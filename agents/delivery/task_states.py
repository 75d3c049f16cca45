"""States of tasks of A2A, and the messages that tell receivers of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from agents.choices import TERMINAL
from agents.models import Run, TaskPush
from agents.output.results import ResultOut
from agents.reads.outcome import read_outcome
from heartbit_site.base import secrets
from heartbit_site.base.query import fetch_all

_ENDED: Final = {"succeeded": "COMPLETED", "cancelled": "CANCELED"}
#: Begin of the mark of a task that asks something; the id of what it asks follows.
_ASKS: Final = "ASKS:"

# A mark is a state, or what the task asks. The claim keeps other processes away, and counts the
# attempt, so that a receiver whose answer crashes its sender is given up in the end.
_CLAIM: Final = """
WITH due AS (
    SELECT p.id, p.mark, CASE
        WHEN r.finished_at IS NOT NULL OR r.status = 'quarantined' THEN r.status
        ELSE coalesce(
            (SELECT 'ASKS:' || min(w.id) FROM agents_wait w JOIN agents_run m ON m.id = w.run_id
             WHERE m.root_id = r.id AND w.asks_person AND w.resolved_at IS NULL
                   AND m.finished_at IS NULL),
            CASE WHEN r.status = 'queued' AND r.started_at IS NULL
                 THEN 'SUBMITTED' ELSE 'WORKING' END)
        END AS now
    FROM agents_taskpush p JOIN agents_run r ON r.id = p.run_id
    WHERE p.status = 'pending' AND p.next_at <= clock_timestamp()
), mine AS (
    SELECT p.id, due.now FROM agents_taskpush p JOIN due ON due.id = p.id
    WHERE due.now <> due.mark AND p.status = 'pending' AND p.next_at <= clock_timestamp()
    ORDER BY p.next_at LIMIT %s FOR UPDATE OF p SKIP LOCKED
)
UPDATE agents_taskpush p
SET attempts = p.attempts + 1, next_at = clock_timestamp() + make_interval(secs => %s)
FROM mine WHERE p.id = mine.id RETURNING p.id, mine.now
"""


def claim_task_pushes(*, limit: int, lease_seconds: float) -> list[tuple[TaskPush, str]]:
    """Claim receivers that do not have the state of their task; return each with its mark."""
    marks = dict(fetch_all(_CLAIM, [limit, lease_seconds]))
    if not marks:
        return []
    rows = TaskPush.objects.filter(pk__in=marks).select_related("workspace").order_by("pk")
    return [(row, marks[row.pk]) for row in rows]


def is_last(mark: str) -> bool:
    """Return True if no other state follows."""
    return mark in TERMINAL


def task_at(push: TaskPush, mark: str) -> dict[str, Any]:
    """Return a task in the state of a mark, with its answer if it has ended.

    Raises:
        RunNotFoundError: Its run was deleted.
    """
    run = Run.objects.filter(pk=push.run_id).only("conversation_id").first()
    context = run.conversation_id if run is not None else None
    status: dict[str, Any] = {"state": f"TASK_STATE_{_name(push, mark)}"}
    task: dict[str, Any] = {"id": str(push.run_id), "status": status}
    task |= {"contextId": str(context)} if context else {}
    status["timestamp"] = timestamp(datetime.now(UTC))
    if not is_last(mark):
        return task
    result = read_outcome(push.run_id).result
    if result is None:
        return task
    if result.text or result.structured is not None:
        task["artifacts"] = [artifact(content_parts(result))]
    if result.error:
        about = {"messageId": f"{push.run_id}:{mark}", "taskId": str(push.run_id)}
        status["message"] = {**about, "role": "ROLE_AGENT", "parts": [{"text": result.error}]}
    return task


def headers_of_push(push: TaskPush) -> dict[str, str]:
    """Return the headers by which a receiver knows the sender.

    Raises:
        SecretError: A secret cannot be decrypted.
    """
    headers = {"content-type": "application/json", "user-agent": "Heartbit-A2A"}
    if token := secrets.reveal(push, "token"):
        headers["x-a2a-notification-token"] = token
    if push.scheme and (secret := secrets.reveal(push, "secret")):
        headers["authorization"] = f"{push.scheme} {secret}"
    return headers


def _name(push: TaskPush, mark: str) -> str:
    if mark.startswith(_ASKS):
        return "INPUT_REQUIRED" if push.decides else "AUTH_REQUIRED"
    return _ENDED.get(mark, "FAILED") if is_last(mark) else mark


def artifact(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of a task as an artifact."""
    return {"artifactId": "answer", "name": "answer", "parts": parts}


def content_parts(result: ResultOut) -> list[dict[str, Any]]:
    """Return a result as parts."""
    if result.structured is not None:
        return [{"data": result.structured, "mediaType": "application/json"}]
    return [{"text": result.text, "mediaType": "text/plain"}]


def timestamp(moment: datetime) -> str:
    """Return a time as A2A writes it."""
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
