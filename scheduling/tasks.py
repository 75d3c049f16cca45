"""Celery entries of the clock."""

from __future__ import annotations

import time

from celery import shared_task
from celery.worker import state

from agents.actions.check_account import check_enabled_accounts
from agents.actions.deliver_webhooks import deliver_webhooks as deliver
from heartbit_site.base import queues
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


def _leaving() -> bool:
    """Whether the worker was told to stop: nothing may keep it then."""
    # Each holds the exit code, which may be 0, or nothing.
    return state.should_stop not in (None, False) or state.should_terminate not in (None, False)
