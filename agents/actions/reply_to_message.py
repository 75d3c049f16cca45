"""Answer a message: on its thread, to whoever wrote it, and to the very run if that is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from agents.actions.steer_with_reply import steer_with_reply
from agents.errors import RecipientError, UnknownMessageError
from agents.messaging.addresses import AGENT, Recipient, inbox_of
from agents.messaging.guard import hops_of
from agents.messaging.storage import Draft, checked_entry, lock_sender, save_message
from agents.models import Agent, Message, MessageKind

if TYPE_CHECKING:
    from agents.messaging.addresses import Sender


@transaction.atomic
def reply_to_message(
    sender: Sender, message_id: str, text: str, *, key: str | None = None
) -> Message:
    """Put a reply into the inbox of whoever wrote the message.

    A run that wrote it and has not ended is told at once, after the commit: its next model call
    sees it. What a person wrote is answered to their address, where the API shows it.

    Args:
        sender: Who answers: an agent what was written to it, a person whatever the workspace has.
        message_id: The message that is answered.
        text: What is said.
        key: The same key in the same workspace gives the same message.

    Raises:
        UnknownMessageError: Nobody wrote the sender such a message.
        EmptyTaskError: ``text`` is blank.
        RecipientError: Whoever wrote it is gone, or is the sender; or the text is too long.
        MessageLimitReachedError: Too many messages in a row, or in a minute.
    """
    words = checked_entry(text)
    answered = _find(sender, message_id)
    if answered.sender == sender.address:
        raise RecipientError("You wrote that message yourself: answer what others write.")
    earlier = lock_sender(sender, key)
    if earlier is not None:
        return earlier
    hops = hops_of(sender, answered)
    draft = Draft(MessageKind.REPLY, words, _writer(answered), hops, answered=answered)
    reply = save_message(draft, sender=sender, key=key)
    if answered.source_run_id is not None:

        def push() -> None:  # Django logs what goes wrong by its name: no partial has one
            steer_with_reply(reply.pk)

        # What goes wrong there is in the log: the reply is in the inbox all the same.
        transaction.on_commit(push, robust=True)
    return reply


def _find(sender: Sender, message_id: str) -> Message:
    try:
        rows = Message.objects.filter(
            pk=UUID(message_id.strip()), workspace=sender.workspace, origin=sender.origin
        )
    except ValueError:
        rows = Message.objects.none()
    if sender.agent is not None:
        to_me = Q(recipient=sender.address) | Q(entries__agent=sender.agent)
        rows = rows.filter(to_me).distinct()
    found = rows.first()
    if found is None:
        raise UnknownMessageError(
            f"There is no message {message_id[:40]!r} to you: copy the id of one that you got."
        )
    return found


def _writer(answered: Message) -> Recipient:
    """The inbox of the agent that wrote it, or the person's address."""
    if answered.source_run_id is None:
        return Recipient(answered.sender)
    agents = Agent.objects.filter(workspace=answered.workspace_id, origin=answered.origin)
    agent = agents.filter(versions__runs=answered.source_run_id).first()
    if agent is None:  # its run is forgotten
        agent = agents.filter(name=answered.sender.removeprefix(AGENT)).first()
    if agent is None:
        raise RecipientError(f"{answered.sender} is gone: nobody would read the answer.")
    return inbox_of(agent)
