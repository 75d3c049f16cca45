"""Every task name and queue, in one place. Messages are sent by name, with ids only."""

from __future__ import annotations

EXECUTE_RUN = "agents.execute_run"
ANNOUNCE_CALLS = "agents.announce_calls"
ANNOUNCE_ESCALATION = "agents.announce_escalation"
HOUSEKEEPING = "scheduling.housekeeping"
CHECK_ACCOUNTS = "scheduling.check_accounts"
DELIVER_WEBHOOKS = "scheduling.deliver_webhooks"
DELIVER_RESULTS = "scheduling.deliver_results"
FIRE_SCHEDULE = "scheduling.fire_schedule"
POLL_MAILBOXES = "scheduling.poll_mailboxes"
TELL_OF_QUOTAS = "scheduling.tell_of_quotas"

AGENTS = "agents"  # where runs go unless their agent names another queue
SYSTEM = "system"  # beat's small internal jobs
