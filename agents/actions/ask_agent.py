"""Ask another agent: a child run answers, and the asking run waits for it durably."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from agents.messaging.addresses import Recipient, Sender, address_of, resolve_agent
from agents.messaging.guard import hops_of, refuse_sub_agent
from agents.messaging.storage import Draft, checked_text, lock_sender, save_message
from agents.messaging.texts import as_question
from agents.models import MessageKind
from agents.reads.agents import find_agent
from heartbit_site.base.ids import new_id
from heartbit_site.base.suspensions import ChildTask, Suspension


@transaction.atomic
def ask_agent(
    sender: Sender, to: str, question: str, *, timeout_seconds: int, key: str
) -> Suspension:
    """Store the question, and return the suspension of the asking run.

    The suspension creates the answering run under the id that the stored question names: after a
    crash in between, the next attempt finds the question by its key.

    Args:
        sender: The agent that asks.
        to: An address of one other agent.
        question: The question, complete in itself.
        timeout_seconds: Seconds to wait for the answer; then the answering run is cancelled.
        key: Idempotency key of the call.

    Raises:
        SubAgentError: The asking run was delegated.
        EmptyTaskError: ``question`` is blank.
        RecipientError: The address does not name one other agent, or the text is too long.
        AgentNotFoundError: No published agent has that name, or it is stopped.
        HaltedError: The workspace or the installation is stopped.
        MessageLimitReachedError: Too many message hops, or messages per minute.
    """
    words = checked_text(question)
    refuse_sub_agent(sender)
    agent = resolve_agent(sender, to)
    request = lock_sender(sender, key)
    if request is None:
        find_agent(sender.workspace, agent.name, origin=sender.origin)  # raises if it is stopped
        draft = Draft(
            MessageKind.REQUEST,
            words,
            Recipient(address_of(agent)),
            hops_of(sender),
            run_id=new_id(),
            expires_at=timezone.now() + timedelta(seconds=timeout_seconds),
        )
        request = save_message(draft, sender=sender, key=key)
    child = ChildTask(agent.name, as_question(request), run_id=request.run_id)
    return Suspension((child,), timeout_seconds)
