"""Active runs that a message reaches: it interrupts or steers them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from uuid import UUID

from agents.actions.write_run import Row
from agents.choices import BusyPolicy
from agents.errors import ConversationBusyError
from agents.journal.events import RunSteered
from agents.models import Conversation, Run, RunEvent
from agents.runs.run_audit import record_of_run

if TYPE_CHECKING:
    from agents.actions.run_request import RunRequest


def find_reached(request: RunRequest, key: str | None) -> tuple[list[Run], bool]:
    """Return the active runs that a message interrupts or steers, and whether it steers.

    A repeated message steers as it did, whatever has become of its run, and reaches none.
    The conversation is locked first, as the SQL function does.
    """
    if request.conversation is None or request.policy in (BusyPolicy.QUEUE, BusyPolicy.REJECT):
        return [], False
    Conversation.objects.select_for_update(no_key=True).filter(pk=request.conversation.pk).first()
    runs = Run.objects.filter(conversation=request.conversation)
    steered = RunEvent.objects.filter(run__in=runs, type=RunSteered.type, payload__key=key)
    if key is not None and steered.exists():
        return [], True
    reached = list(runs.filter(finished_at__isnull=True, cancel_requested=False).order_by("pk"))
    return reached, request.policy is BusyPolicy.STEER and bool(reached)


def record_reached(request: RunRequest, row: Row, reached: Iterable[Run]) -> None:
    """Record in the audit what the message did to the runs."""
    for run in reached:
        if row.outcome == "steered" and run.pk == row.run_id:
            record_of_run(request.by, "steer", run)
        elif row.is_new and request.policy is BusyPolicy.INTERRUPT:
            record_of_run(request.by, "cancel", run, reason="interrupted by a new message")


def refuse_extras(request: RunRequest, run_id: UUID) -> None:
    """Raise if a message that steers brings what only a run of its own could have.

    Raises:
        ConversationBusyError: It has deliveries, or files.
    """
    if request.deliveries:  # the result goes to the run's own recipients only
        raise ConversationBusyError(
            f"The message would steer the active run {run_id}, so it has no result to deliver. "
            "Wait for it, or leave out deliver."
        )
    if request.files:  # they would change its folder under its hands
        raise ConversationBusyError(
            f"The conversation is busy with run {run_id}, whose folder takes no files now. Wait "
            "for it, or leave out files and archive."
        )
