"""Celery entries of the clock."""

from __future__ import annotations

import time

from celery import shared_task
from celery.worker import state

from agents.actions.check_account import check_enabled_accounts
from agents.actions.deliver_results import deliver_results as deliver_due_results
from agents.actions.deliver_webhooks import deliver_webhooks as deliver
from agents.actions.poll_mailboxes import poll_mailboxes as poll
from agents.actions.tell_of_quotas import tell_of_quotas as tell
from heartbit_site.base import queues
from scheduling.actions.fire_due import fire_due
from scheduling.actions.keep_house import keep_house

ARCHIVE_SECONDS = 900.0  # of each hour; what is left waits for the next


@shared_task(name=queues.HOUSEKEEPING)
def housekeeping() -> int:
    """Beat's internal job: archive what is over, drop what only served the moment."""
    deadline = time.monotonic() + ARCHIVE_SECONDS
    return keep_house(goes_on=lambda: time.monotonic() < deadline and not _leaving())


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


@shared_task(name=queues.TELL_OF_QUOTAS)
def tell_of_quotas() -> int:
    """Tell workspaces which of their quotas are nearly, or wholly, used up; how many entries."""
    return tell()


@shared_task(name=queues.FIRE_SCHEDULE)
def fire_schedule(schedule_id: int) -> int:
    """Beat's ring for one schedule; how many of its slots were dealt with."""
    return fire_due(only=schedule_id)


def _leaving() -> bool:
    """Whether the worker was told to stop: nothing may keep it then."""
    # Each holds the exit code, which may be 0, or nothing.
    return state.should_stop not in (None, False) or state.should_terminate not in (None, False)
