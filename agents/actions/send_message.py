"""Send messages to agents: notifications to inboxes, tasks, and questions with an answer."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest
from agents.messaging.addresses import (
    Recipient,
    Sender,
    address_of,
    resolve_agent,
    resolve_recipient,
)
from agents.messaging.storage import (
    checked_entry,
    checked_text,
    checked_thread,
    hops_of,
    lock_sender,
    refuse_local,
    refuse_sub_agent,
    save_message,
)
from agents.messaging.texts import as_question, as_task
from agents.models import Message, MessageKind
from agents.reads.agents import find_agent
from heartbit_site.base.audit import Actor
from heartbit_site.base.ids import new_id
from heartbit_site.base.suspensions import ChildTask, Suspension


@transaction.atomic
def send_message(
    sender: Sender, to: str, text: str, *, thread: str = "", key: str | None = None
) -> Message:
    """Put a notification into inboxes.

    Args:
        sender: The author.
        to: An address (``agents.messaging.addresses``).
        text: The message.
        thread: Name of the thread, whose messages are numbered; empty: a new thread.
        key: Repeating the key in the same workspace returns the same message.

    Raises:
        EmptyTaskError: ``text`` is blank.
        RecipientError: The address is unknown, or the text or the thread's name is too long.
        AgentNotFoundError: No published agent has that name.
        MessageLimitReachedError: Too many message hops, or messages per minute.
    """
    words, about = checked_entry(text), checked_thread(thread)
    earlier = lock_sender(sender, key)
    if earlier is not None:
        return earlier
    hops = hops_of(sender)
    recipient = resolve_recipient(sender, to)
    kind = MessageKind.NOTIFICATION
    columns = {"thread": about, "idempotency_key": key}
    return save_message(sender, kind, words, recipient, hops, **columns)


@transaction.atomic
def start_agent(sender: Sender, to: str, task: str, *, key: str | None = None) -> Message:
    """Store the message and start its run, in one transaction.

    The run inherits priority, model and approval of every call from the run that starts it.

    Args:
        sender: The author.
        to: An address of one other agent.
        task: The task.
        key: Repeating the key in the same workspace returns the same message and run.

    Raises:
        SubAgentError: The sender's run was delegated.
        RunStateError: The sender's run is local.
        EmptyTaskError: ``task`` is blank.
        RecipientError: The address does not name one other agent, or the text is too long.
        AgentNotFoundError: No published agent has that name, or it is stopped.
        HaltedError: The workspace or the installation is stopped.
        QuotaExceededError: The workspace or the agent has reached a run quota.
        MessageLimitReachedError: Too many message hops, or messages per minute.
    """
    words = checked_text(task)
    refuse_sub_agent(sender)
    refuse_local(sender)
    agent = resolve_agent(sender, to)
    earlier = lock_sender(sender, key)
    if earlier is not None:
        return earlier
    message_id, hops, run = new_id(), hops_of(sender), sender.run
    admitted = admit(
        RunRequest(
            sender.workspace,
            as_task(str(message_id), sender.address, words),
            agent=agent.name,
            origin=sender.origin,
            model=run.model_override if run is not None else "",
            priority=run.priority if run is not None else 0,
            approve=run is not None and run.approve,
            by=sender.by or Actor(sender.address, "system"),
        )
    )
    columns = {"id": message_id, "run_id": admitted.run_id, "idempotency_key": key}
    recipient = Recipient(address_of(agent))
    return save_message(sender, MessageKind.TASK, words, recipient, hops, **columns)


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
        expires_at = timezone.now() + timedelta(seconds=timeout_seconds)
        columns = {"idempotency_key": key, "run_id": new_id(), "expires_at": expires_at}
        recipient, hops = Recipient(address_of(agent)), hops_of(sender)
        request = save_message(sender, MessageKind.REQUEST, words, recipient, hops, **columns)
    child = ChildTask(agent.name, as_question(request), run_id=request.run_id)
    return Suspension((child,), timeout_seconds)
