"""Wake-ups of the fleet: a message for one run, a chord for a fan-out.

Messages may be lost, repeated or reordered (docs/architecture/run-lifecycle.md): the database
decides about claims, and the sweeper replaces lost wake-ups.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from heartbit_site.base import enqueue
from heartbit_site.base.queues import ANNOUNCE_CALLS, ANNOUNCE_ESCALATION, EXECUTE_RUN, SYSTEM


def wake_run(run_id: UUID, *, queue: str) -> None:
    """Wake a run through its queue's workers."""
    enqueue.send(_message(run_id, queue))


def fan_out(children: Sequence[tuple[UUID, str]], parent: tuple[UUID, str]) -> None:
    """Wake all children (id, queue) as a chord's header; its body wakes the parent."""
    header = [_message(run_id, queue) for run_id, queue in children]
    enqueue.send_chord(header, _message(*parent))


def announce(run_id: UUID) -> None:
    """Notify the people who may decide the waiting calls of a run."""
    enqueue.send(enqueue.TaskMessage(ANNOUNCE_CALLS, str(run_id), SYSTEM))


def announce_escalation(wait_id: int) -> None:
    """Notify the people who may decide a wait after its escalation."""
    enqueue.send(enqueue.TaskMessage(ANNOUNCE_ESCALATION, str(wait_id), SYSTEM))


def _message(run_id: UUID, queue: str) -> enqueue.TaskMessage:
    return enqueue.TaskMessage(EXECUTE_RUN, str(run_id), queue)
