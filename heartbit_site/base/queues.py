"""Every task name and queue, in one place. Messages are sent by name, with ids only."""

from __future__ import annotations

EXECUTE_RUN = "agents.execute_run"
ANNOUNCE_CALLS = "agents.announce_calls"
ANNOUNCE_ESCALATION = "agents.announce_escalation"
HOUSEKEEPING = "agents.housekeeping"
ROLL_UP_FIGURES = "agents.roll_up_figures"
CHECK_ACCOUNTS = "agents.check_accounts"
DELIVER_WEBHOOKS = "agents.deliver_webhooks"
DELIVER_RESULTS = "agents.deliver_results"
CANCEL_REMOTE_TASKS = "agents.cancel_remote_tasks"
SEND_TASK_PUSHES = "agents.send_task_pushes"
SEND_NOTIFICATIONS = "agents.send_notifications"
ASK_IN_CHAT = "agents.ask_in_chat"
FIRE_SCHEDULE = "scheduling.fire_schedule"
PRUNE_FIRINGS = "scheduling.prune_firings"
POLL_MAILBOXES = "agents.poll_mailboxes"
EMBED_MEMORIES = "agents.embed_memories"
INGEST_DOCUMENTS = "agents.ingest_documents"
FOLLOW_FOLDERS = "agents.follow_folders"
SEND_QUOTA_NOTICES = "agents.send_quota_notices"
MAIL_ACCOUNT_LINKS = "agents.mail_account_links"
SEND_ALERTS = "monitoring.send_alerts"

MEMORY = "memory"  # runs that extract memories, which no one waits for
SYSTEM = "system"  # Beat's small internal jobs

#: Default queues of a worker.
DEFAULT = ("agents", MEMORY, SYSTEM)


def without_worker(queue: str) -> str:
    """Return the sentence about a queue that no worker serves."""
    return f"No worker serves the queue {queue}: `{serve_command(queue)}` starts one."


def serve_command(queue: str) -> str:
    """Return the command that starts a worker of a queue."""
    return "heartbit serve" if queue in DEFAULT else f"heartbit serve --queues {queue}"
