"""Give an agent a task by a message: an independent run, for which the sender does not wait."""

from __future__ import annotations

from django.db import transaction

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest
from agents.messaging.addresses import Recipient, Sender, address_of, resolve_agent
from agents.messaging.guard import hops_of, refuse_local, refuse_sub_agent
from agents.messaging.storage import Draft, checked_text, lock_sender, save_message
from agents.messaging.texts import as_task
from agents.models import Message, MessageKind
from heartbit_site.base.audit import Actor
from heartbit_site.base.ids import new_id


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
    run_id = admitted.run_id
    draft = Draft(
        MessageKind.TASK, words, Recipient(address_of(agent)), hops, run_id=run_id, id=message_id
    )
    return save_message(draft, sender=sender, key=key)
