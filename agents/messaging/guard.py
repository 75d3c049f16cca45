"""Limits against endless messaging: messages in a row, and messages per minute."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from agents.choices import Placement
from agents.errors import MessageLimitReachedError, RunStateError, SubAgentError
from agents.messaging.addresses import Sender
from agents.models import Message, Run
from heartbit_site.base.query import fetch_one

WINDOW = timedelta(minutes=1)

# Hops of the run and its ancestors: each was planned by an agent or started by a message, and each
# has received messages. So two runs that read each other's messages count up, too.
_LED_HERE = """
    WITH RECURSIVE above AS (
        SELECT id, parent_id, hops FROM agents_run WHERE id = %s
        UNION ALL
        SELECT r.id, r.parent_id, r.hops FROM agents_run r JOIN above a ON r.id = a.parent_id
    )
    SELECT max(led.hops) FROM (
        SELECT hops FROM above
        UNION ALL
        SELECT m.hops + 1 FROM above a JOIN agents_message m ON m.run_id = a.id
        UNION ALL
        SELECT m.hops + 1 FROM above a JOIN agents_inboxentry e ON e.run_id = a.id
                                   JOIN agents_message m ON m.id = e.message_id
    ) led
"""


def check_rate(sender: Sender) -> None:
    """Limit an agent's messages per minute; the sender's lock makes the count exact.

    People's messages are limited by the API.

    Raises:
        MessageLimitReachedError: The agent's runs together have sent too many messages.
    """
    limit: int = settings.HEARTBIT_MESSAGES_PER_MINUTE
    if sender.by is not None or limit <= 0:
        return
    sent = Message.objects.filter(workspace=sender.workspace, sender=sender.address)
    if sent.filter(created_at__gt=Now() - WINDOW).count() >= limit:
        raise MessageLimitReachedError(
            f"An agent's limit is {limit} messages a minute, and you have reached it: continue "
            "without, or send it later."
        )


def hops_of(sender: Sender, answered: Message | None = None) -> int:
    """Return the number of messages that led to the one being written.

    Args:
        sender: Sender; its run's origin and the messages that run has read count. A person starts
            at 0.
        answered: Message being answered, which counts as well.

    Raises:
        MessageLimitReachedError: The number is above the limit.
    """
    if sender.run is None:
        return 0  # a person's message starts at 0
    hops = max(hops_to(sender.run), answered.hops + 1 if answered is not None else 0)
    limit: int = settings.HEARTBIT_MAX_MESSAGE_HOPS
    if hops > limit:
        raise MessageLimitReachedError(
            f"{hops} messages in a row led to this one, and the limit is {limit}: end it here, and "
            "say in your answer what is left to do."
        )
    return hops


def hops_to(run: Run) -> int:
    """Return the number of messages and agents' plans in a row that led to a run's next action."""
    return int(fetch_one(_LED_HERE, [run.pk])[0])


def refuse_sub_agent(sender: Sender) -> None:
    """Refuse a sub-agent's start of other agents; a run started by a question may ask.

    Raises:
        SubAgentError: The run was delegated.
    """
    if sender.run is not None and is_delegated(sender.run):
        raise SubAgentError(
            "A sub-agent cannot start other agents: say in your answer what is missing, and your "
            "orchestrator decides."
        )


def is_delegated(run: Run) -> bool:
    """Return True if the run is a sub-agent of a team, not started by a message."""
    return run.parent_id is not None and not Message.objects.filter(run_id=run.pk).exists()


def refuse_local(sender: Sender) -> None:
    """Refuse to start runs from a local run, whose process would not execute them.

    Raises:
        RunStateError: The run is local.
    """
    if sender.run is not None and sender.run.home == Placement.LOCAL:
        raise RunStateError(
            "This run works in one process, without the fleet, so nothing continues when it has "
            "ended: use ask_agent, which waits for the answer."
        )
