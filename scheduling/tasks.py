"""Celery entries of the clock."""

from __future__ import annotations

from celery import shared_task

from agents.actions.check_account import check_enabled_accounts
from heartbit_site.base import queues
from scheduling.actions.prune_workers import prune_workers


@shared_task(name=queues.HOUSEKEEPING)
def housekeeping() -> int:
    """Beat's internal job: drop what only served the moment."""
    return prune_workers()


@shared_task(name=queues.CHECK_ACCOUNTS)
def check_accounts() -> int:
    """Ask the providers whether they still take the workspaces' keys."""
    return check_enabled_accounts()
