"""Celery entries: ids in, one call out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import shared_task

from agents.runtime import worker
from heartbit_site.base import aio, queues


@shared_task(name=queues.EXECUTE_RUN, bind=True)
def execute_run(self: Any, run_id: str) -> str:
    """Serve a nudge: one slice of this run, or of the next eligible one."""
    return aio.run(worker.host().process.execute(UUID(run_id), self.request.id))
