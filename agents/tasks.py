"""Celery entries: ids in, one call out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import shared_task

from agents.actions import announce_calls as announcing
from agents.runtime import worker
from heartbit_site.base import aio, queues


@shared_task(name=queues.EXECUTE_RUN, bind=True)
def execute_run(self: Any, run_id: str) -> str:
    """Serve a nudge: one slice of this run, or of the next eligible one."""
    return aio.run(worker.host().process.execute(UUID(run_id), self.request.id))


@shared_task(name=queues.ANNOUNCE_CALLS)
def announce_calls(run_id: str) -> int:
    """Write to the people who may decide what waits in a run."""
    return announcing.announce_calls(UUID(run_id))


@shared_task(name=queues.ANNOUNCE_ESCALATION)
def announce_escalation(wait_id: str) -> int:
    """Write to the people who may decide by now what nobody decided in time."""
    return announcing.announce_escalation(int(wait_id))
