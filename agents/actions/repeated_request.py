"""Requests whose idempotency key was used before: the same one is answered, another one refused."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from agents.errors import IdempotencyMismatchError
from agents.journal.events import RunSteered
from agents.models import Run, RunEvent

if TYPE_CHECKING:
    from agents.actions.run_request import RunRequest


def refuse_other(request: RunRequest, key: str, used: UUID | None) -> None:
    """Raise if the key was used for another request; Heartbit's own requests may have changed.

    Args:
        request: The request of today.
        key: Its idempotency key, as stored.
        used: The run that the key has started; None: it may have steered one.

    Raises:
        IdempotencyMismatchError: Conversation, agent or task differ.
    """
    if request.by.access is None or request.fork is not None or request.call is not None:
        return
    if used is not None:
        run = Run.objects.only("agent", "task", "conversation_id").get(pk=used)
        thread = request.conversation.pk if request.conversation is not None else None
        same = {
            "conversation": run.conversation_id == thread,
            "agent": run.agent == request.asked[0],
            "task": run.task == request.text,
        }
        _refuse(used, [name for name, is_same in same.items() if not is_same])
    elif request.conversation is not None:
        steered = RunEvent.objects.filter(
            run__conversation=request.conversation, type=RunSteered.type, payload__key=key
        )
        for run_id, text in steered.values_list("run_id", "payload__text")[:1]:
            _refuse(run_id, ["message"] if text != request.text else [])


def _refuse(run_id: UUID, others: list[str]) -> None:
    if others:
        raise IdempotencyMismatchError(
            f"The idempotency key was used for run {run_id}, which has another {others[0]}: send "
            "the same request again, or take another key."
        )
