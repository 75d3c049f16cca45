"""Celery tasks: ids in, one call out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.worker import state
from django.conf import settings
from django.utils import timezone

from agents.actions import waits as announcing
from agents.actions.ask_in_chat import ask_in_chat as ask_due_questions
from agents.actions.cancel_remote_tasks import cancel_remote_tasks as cancel_due_tasks
from agents.actions.channels import poll_mailboxes as poll
from agents.actions.deliver_results import deliver_results as deliver_due_results
from agents.actions.environment_keys import check_environment_keys
from agents.actions.notifications import send_notifications as send_due_notifications
from agents.actions.provider_accounts import check_enabled_accounts
from agents.actions.quotas import send_quota_notices as tell
from agents.actions.task_pushes import send_task_pushes as send_due_pushes
from agents.actions.webhooks import deliver_webhooks as deliver
from agents.housekeeping.roll_up import roll_up
from agents.housekeeping.run_housekeeping import run_housekeeping
from agents.live.changes import notify
from agents.runtime.execution import worker
from heartbit_site.base import queues
from heartbit_site.base.actions.reset_password import mail_password_links as mail_links
from heartbit_site.base.database_faults import is_away
from heartbit_site.base.loop_task import on_loop
from memory.actions.follow_folders import follow_folders as follow
from memory.actions.ingest_documents import ingest_documents as ingest
from memory.actions.policy import embed_memories as embed

ARCHIVE_SECONDS = 900.0  # of each hour; the rest waits for the next
EMBED_SECONDS = 4.0  # of each five, for the same reason
INGEST_SECONDS = 4.0
AGAIN_SECONDS = 5.0  # until a mail that the database kept from being written is tried again
MOST_RETRIES = 720  # an hour
FOLLOW_SECONDS = 50.0  # of each minute; the rest waits for the next


@shared_task(name=queues.EXECUTE_RUN, bind=True)
@on_loop
async def execute_run(task_id: str, run_id: str) -> str:
    """Handle a wake-up: run one slice of this run, or of the next eligible one."""
    return await worker.host().process.execute(UUID(run_id), task_id)


@shared_task(name=queues.ANNOUNCE_CALLS, bind=True)
def announce_calls(task: Any, run_id: str) -> int:
    """Notify the people who may decide a run's waiting calls."""
    with _again_if_away(task):
        return announcing.notify_approvers(UUID(run_id), by_mail=settings.HEARTBIT_APPROVAL_MAIL)


@shared_task(name=queues.ANNOUNCE_ESCALATION, bind=True)
def announce_escalation(task: Any, wait_id: str) -> int:
    """Notify the people who may decide an escalated wait."""
    with _again_if_away(task):
        return announcing.notify_escalation(int(wait_id), by_mail=settings.HEARTBIT_APPROVAL_MAIL)


@shared_task(name=queues.HOUSEKEEPING)
def housekeeping() -> int:
    """Archive ended runs and delete expired rows, as Beat requests each hour."""
    deadline = time.monotonic() + ARCHIVE_SECONDS
    return run_housekeeping(goes_on=lambda: time.monotonic() < deadline and not _leaving())


@shared_task(name=queues.ROLL_UP_FIGURES)
def roll_up_figures() -> int:
    """Write the figures of what is over; return the number of rows."""
    return roll_up(timezone.now(), goes_on=lambda: not _leaving())


@shared_task(name=queues.CHECK_ACCOUNTS)
def check_accounts() -> int:
    """Check whether the providers accept the keys of workspaces and of the environment."""
    return check_enabled_accounts() + check_environment_keys()


@shared_task(name=queues.DELIVER_WEBHOOKS)
def deliver_webhooks() -> int:
    """Deliver due webhook messages; return the number delivered."""
    return deliver()


@shared_task(name=queues.DELIVER_RESULTS)
def deliver_results() -> int:
    """Deliver due results of ended runs; return the number delivered."""
    return deliver_due_results()


@shared_task(name=queues.CANCEL_REMOTE_TASKS)
def cancel_remote_tasks() -> int:
    """Cancel tasks of remote agents that no call waits for; return their number."""
    return cancel_due_tasks()


@shared_task(name=queues.SEND_TASK_PUSHES)
def send_task_pushes() -> int:
    """Send the states of tasks to their receivers; return the number that arrived."""
    return send_due_pushes()


@shared_task(name=queues.SEND_NOTIFICATIONS)
def send_notifications() -> int:
    """Notify browsers of what waits for their people; return the number that arrived."""
    return send_due_notifications()


@shared_task(name=queues.ASK_IN_CHAT)
def ask_in_chat() -> int:
    """Ask in chat apps what waits for people, and show what was decided; return a number."""
    return ask_due_questions()


@shared_task(name=queues.POLL_MAILBOXES)
def poll_mailboxes() -> int:
    """Hand new mail in the channels' mailboxes to their agents; return the number of mails."""
    return poll()


@shared_task(name=queues.EMBED_MEMORIES)
def embed_memories() -> int:
    """Embed memories and passages without a vector of their workspace's model; return a number."""
    deadline = time.monotonic() + EMBED_SECONDS
    return embed(goes_on=lambda: time.monotonic() < deadline and not _leaving())


@shared_task(name=queues.INGEST_DOCUMENTS)
def ingest_documents() -> int:
    """Read documents that wait; return the number of parts that were read."""
    deadline = time.monotonic() + INGEST_SECONDS
    return ingest(
        goes_on=lambda: time.monotonic() < deadline and not _leaving(),
        after_part=lambda workspace_id: notify(workspace_id, "knowledge"),
    )


@shared_task(name=queues.FOLLOW_FOLDERS)
def follow_folders() -> int:
    """Take up the drive's folders that knowledge bases follow; return the changed documents."""
    deadline = time.monotonic() + FOLLOW_SECONDS
    return follow(goes_on=lambda: time.monotonic() < deadline and not _leaving())


@shared_task(name=queues.SEND_QUOTA_NOTICES)
def send_quota_notices() -> int:
    """Send due quota warnings; return the number of audit entries."""
    return tell()


@shared_task(name=queues.MAIL_ACCOUNT_LINKS)
def mail_account_links(address: str = "") -> int:
    """Send the accounts of an address links for a new password; return the number of mails."""
    return mail_links(address)


@contextmanager
def _again_if_away(task: Any) -> Iterator[None]:
    """Run a task later if the database is unavailable; the others are due again by themselves."""
    try:
        yield
    except Exception as error:
        if not is_away(error):
            raise
        raise task.retry(exc=error, countdown=AGAIN_SECONDS, max_retries=MOST_RETRIES) from error


def _leaving() -> bool:
    """Return True if the worker is stopping, which ends long tasks."""
    # Each holds the exit code, which may be 0, or nothing.
    return state.should_stop not in (None, False) or state.should_terminate not in (None, False)
