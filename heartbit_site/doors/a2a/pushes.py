"""Push notifications of A2A: receivers of a task's states. Their secrets are never returned."""

from __future__ import annotations

from typing import Any, Final

from agents.actions.task_pushes import save_task_push
from agents.models import Run, TaskPush
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.doors.a2a.errors import INVALID_PARAMS, A2AError
from heartbit_site.doors.a2a.requests import PushRequest
from heartbit_site.doors.questions import DECIDE

NOTHING: Final[dict[str, Any]] = {}


def add_push(access: Access, run: Run, given: PushRequest) -> dict[str, Any]:
    """Add a receiver to a task, or replace the one of its id. Blocks.

    Raises:
        ConfigurationError: As ``save_task_push``.
    """
    push = TaskPush(
        workspace=access.workspace,
        run_id=run.pk,
        name=given.id or str(run.pk),  # as the SDK does: a message sent again adds none
        url=given.url,
        decides=access.allows(DECIDE),
    )
    how = given.authentication
    scheme, secret = (how.scheme, how.credentials) if how is not None else ("", "")
    return _told(
        save_task_push(push, token=given.token, scheme=scheme, secret=secret, by=actor_of(access))
    )


def get_push(run: Run, name: str) -> dict[str, Any]:
    """Return a receiver of a task. Blocks.

    Raises:
        A2AError: The task has no such receiver.
    """
    found = TaskPush.objects.filter(run_id=run.pk, name=name).first()
    if found is None:
        raise A2AError(INVALID_PARAMS, f"The task has no push notification config {name[:80]!r}.")
    return _told(found)


def list_pushes(run: Run) -> dict[str, Any]:
    """Return the receivers of a task. Blocks."""
    return {
        "configs": [_told(one) for one in TaskPush.objects.filter(run_id=run.pk).order_by("pk")]
    }


def remove_push(run: Run, name: str) -> dict[str, Any]:
    """Remove a receiver, if the task has it. Blocks."""
    TaskPush.objects.filter(run_id=run.pk, name=name).delete()
    return NOTHING


def _told(push: TaskPush) -> dict[str, Any]:
    told = {"id": push.name, "taskId": str(push.run_id), "url": push.url}
    return told | ({"authentication": {"scheme": push.scheme}} if push.scheme else {})
