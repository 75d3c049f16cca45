"""What keeps messages from going round for ever: how many in a row, and how many a minute."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from agents.choices import Placement
from agents.errors import MessageLimitReachedError, RunStateError, SubAgentError
from agents.models import Message

if TYPE_CHECKING:
    from agents.messaging.addresses import Sender
    from agents.models import Run

WINDOW = timedelta(minutes=1)

# What led here: an agent planned the run, or a message started it, or the run that it works for,
# and so on; and each of these has read messages. So two runs that read each other's are a row, too.
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
    """Let nobody flood the others; the caller holds the sender's lock, so the count is exact.

    People are limited where they come in, by the API.

    Raises:
        MessageLimitReachedError: The agent, in all of its runs together, has written too often.
    """
    limit: int = settings.HEARTBIT_MESSAGES_PER_MINUTE
    if sender.by is not None or limit <= 0:
        return
    sent = Message.objects.filter(workspace=sender.workspace, sender=sender.address)
    if sent.filter(created_at__gt=Now() - WINDOW).count() >= limit:
        raise MessageLimitReachedError(
            f"An agent may write {limit} messages a minute, and you have: go on without, or later."
        )


def hops_of(sender: Sender, answered: Message | None = None) -> int:
    """How many messages led to the one that is written now.

    Args:
        sender: Who writes: what started the run counts, and what it has read; a person begins anew.
        answered: The message that is answered, which counts as well.

    Raises:
        MessageLimitReachedError: Too many.
    """
    if sender.run is None:
        return 0  # whatever a person says begins anew
    hops = max(hops_to(sender.run), answered.hops + 1 if answered is not None else 0)
    limit: int = settings.HEARTBIT_MAX_MESSAGE_HOPS
    if hops > limit:
        raise MessageLimitReachedError(
            f"{hops} messages in a row led to this one, and {limit} may: end it here, and say in "
            "your answer what is left to do."
        )
    return hops


def hops_to(run: Run) -> int:
    """How many messages, and plans of agents, in a row led to what a run does next."""
    with connection.cursor() as cursor:
        cursor.execute(_LED_HERE, [run.pk])
        found: int = cursor.fetchone()[0]
    return found


def refuse_sub_agent(sender: Sender) -> None:
    """A run that was delegated hands nothing on; one that was asked may ask in its turn.

    Raises:
        SubAgentError: It was delegated.
    """
    if sender.run is not None and is_delegated(sender.run):
        raise SubAgentError(
            "A sub-agent cannot start other agents: say in your answer what is missing, and your "
            "orchestrator decides."
        )


def is_delegated(run: Run) -> bool:
    """Whether it works for another run that did not ask by a message: a team's sub-agent."""
    return run.parent_id is not None and not Message.objects.filter(run_id=run.pk).exists()


def refuse_local(sender: Sender) -> None:
    """A run in a process of its own has nobody who would execute what it starts and leaves.

    Raises:
        RunStateError: It is one.
    """
    if sender.run is not None and sender.run.home == Placement.LOCAL:
        raise RunStateError(
            "This run works in one process, without the fleet, so nothing goes on when it has "
            "ended: use ask_agent, which waits for the answer."
        )
