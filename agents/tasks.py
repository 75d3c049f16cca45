"""Celery entries: ids in, one call out."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.worker import state

from agents.actions import notify_approvers as announcing
from agents.actions.check_account import check_enabled_accounts
from agents.actions.deliver_results import deliver_results as deliver_due_results
from agents.actions.deliver_webhooks import deliver_webhooks as deliver
from agents.actions.poll_mailboxes import poll_mailboxes as poll
from agents.actions.send_quota_notices import send_quota_notices as tell
from agents.housekeeping.run_housekeeping import run_housekeeping
from agents.runtime import worker
from heartbit_site.base import aio, queues

ARCHIVE_SECONDS = 900.0  # of each hour; what is left waits for the next


@shared_task(name=queues.EXECUTE_RUN, bind=True)
def execute_run(self: Any, run_id: str) -> str:
    """Serve a nudge: one slice of this run, or of the next eligible one."""
    return aio.run(worker.host().process.execute(UUID(run_id), self.request.id))


@shared_task(name=queues.ANNOUNCE_CALLS)
def announce_calls(run_id: str) -> int:
    """Write to the people who may decide what waits in a run."""
    return announcing.notify_approvers(UUID(run_id))


@shared_task(name=queues.ANNOUNCE_ESCALATION)
def announce_escalation(wait_id: str) -> int:
    """Write to the people who may decide by now what nobody decided in time."""
    return announcing.notify_escalation(int(wait_id))


@shared_task(name=queues.HOUSEKEEPING)
def housekeeping() -> int:
    """Beat's internal job: archive what is over, drop what only served the moment."""
    deadline = time.monotonic() + ARCHIVE_SECONDS
    return run_housekeeping(goes_on=lambda: time.monotonic() < deadline and not _leaving())


@shared_task(name=queues.CHECK_ACCOUNTS)
def check_accounts() -> int:
    """Ask the providers whether they still take the workspaces' keys."""
    return check_enabled_accounts()


@shared_task(name=queues.DELIVER_WEBHOOKS)
def deliver_webhooks() -> int:
    """Tell the workspaces' webhooks what happened; how many messages arrived."""
    return deliver()


@shared_task(name=queues.DELIVER_RESULTS)
def deliver_results() -> int:
    """Send the results of runs that have ended to whom they were ordered for; how many arrived."""
    return deliver_due_results()


@shared_task(name=queues.POLL_MAILBOXES)
def poll_mailboxes() -> int:
    """Give what has come into the channels' mailboxes to their agents; how many mails."""
    return poll()


@shared_task(name=queues.SEND_QUOTA_NOTICES)
def send_quota_notices() -> int:
    """Tell workspaces which of their quotas are nearly, or wholly, used up; how many entries."""
    return tell()


def _leaving() -> bool:
    """Whether the worker was told to stop: nothing may keep it then."""
    # Each holds the exit code, which may be 0, or nothing.
    return state.should_stop not in (None, False) or state.should_terminate not in (None, False)
