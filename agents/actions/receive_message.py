"""Receive a message from outside: a run answers it, or the channel refuses it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest, start_conversation
from agents.choices import BusyPolicy, InboundStatus
from agents.delivery.targets import read_targets
from agents.errors import ChannelClosedError, MessageTooLongError, TooManyMessagesError
from agents.inbound.messages import Inbound, conversation_of, refusal_reason, to_inbound
from agents.models import Channel, Conversation, InboundMessage
from heartbit_site.base.audit import BY_CHANNEL, Actor
from tools.mail.mime import read_mail

HOUR = timedelta(hours=1)
MOST_CHARACTERS = 120_000  # a mail's words, its header, and what is said of them
_MOST_OF_TITLE = 200
_MOST_OF_SENDER = 254


@dataclass(frozen=True, slots=True)
class Accepted:
    """Result of accepting or refusing an inbound message.

    Attributes:
        run_id: The run that answers the message; None: the message was refused.
        conversation_id: Its conversation; None: removed since, or the message was refused.
        is_duplicate: True if the message was received before: nothing was done.
    """

    run_id: UUID | None
    conversation_id: UUID | None
    is_duplicate: bool


@transaction.atomic
def accept_message(channel: Channel, message: Inbound) -> Accepted:
    """Give a message to the channel's agent, once, in the order of arrival.

    A refusal stores nothing: the sender may send the message again later.

    Raises:
        ChannelClosedError: The channel is disabled or removed.
        MessageTooLongError: The task made from the message is longer than 120,000 characters.
        TooManyMessagesError: The channel has reached its limit of messages per hour.
        EmptyTaskError: The message is blank.
        AgentNotFoundError: The channel's agent was removed or is stopped.
        HaltedError: The workspace or the installation is stopped.
        QuotaExceededError: The workspace or the agent has reached a run quota.
        ModelUnreachableError: No model that the agent may use is available.
        NoSandboxError: The agent runs code, and there is no sandbox where it would run.
    """
    # Held until the end: two messages of one thread come one after the other.
    channel = _find_locked(channel)
    before = InboundMessage.objects.filter(channel=channel, external_id=message.external_id).first()
    if before is not None:
        return Accepted(before.run_id, before.conversation_id, is_duplicate=True)
    _refuse_if_closed(channel)
    if len(message.text) > MOST_CHARACTERS:
        raise MessageTooLongError(
            f"The message makes a task of {len(message.text):,} characters: at most "
            f"{MOST_CHARACTERS:,} are taken."
        )
    _refuse_if_full(channel)
    conversation = conversation_of(channel, message) or start_conversation(
        channel.workspace, agent=channel.agent, title=message.title[:_MOST_OF_TITLE]
    )
    run_id = admit(_request(channel, message, conversation)).run_id
    _store(channel, message, run_id, conversation.pk)
    if channel.last_error:
        Channel.objects.filter(pk=channel.pk).update(last_error="")
    return Accepted(run_id, conversation.pk, is_duplicate=False)


def _request(channel: Channel, message: Inbound, conversation: Conversation) -> RunRequest:
    reply = (message.reply,) if message.reply is not None else ()
    return RunRequest(
        channel.workspace,
        message.text,
        conversation=conversation,
        busy_policy=BusyPolicy.QUEUE,
        approve=channel.approve,
        by=Actor(f"{BY_CHANNEL}{channel.name}", "api"),
        deliveries=(*read_targets(channel.deliver), *reply),
    )


def _find_locked(channel: Channel) -> Channel:
    rows = Channel.objects.select_for_update(no_key=True, of=("self",)).filter(pk=channel.pk)
    found = rows.select_related("workspace").first()
    if found is None:
        raise ChannelClosedError(f"The channel {channel.name} was removed: it takes no messages.")
    return found


def _store(channel: Channel, message: Inbound, run_id: UUID, conversation_id: UUID) -> None:
    InboundMessage.objects.create(
        channel=channel,
        external_id=message.external_id,
        sender=message.sender[:_MOST_OF_SENDER],
        title=message.title[:_MOST_OF_TITLE],
        status=InboundStatus.ACCEPTED,
        run_id=run_id,
        conversation_id=conversation_id,
        thread=message.thread,
    )


def _refuse_if_closed(channel: Channel) -> None:
    if not channel.enabled:
        raise ChannelClosedError(f"The channel {channel.name} is disabled: it takes no messages.")


def _refuse_if_full(channel: Channel) -> None:
    now = timezone.now()
    recent = InboundMessage.objects.filter(
        channel=channel, status=InboundStatus.ACCEPTED, received_at__gt=now - HOUR
    )
    # The one that has to be an hour old before there is room again.
    oldest = recent.order_by("-id").values_list("received_at", flat=True)
    full = oldest[channel.hourly_limit - 1 : channel.hourly_limit].first()
    if full is not None:
        wait = max(1, round((full + HOUR - now).total_seconds()))
        raise TooManyMessagesError(
            f"The channel {channel.name} takes {channel.hourly_limit} messages an hour: send it "
            f"again in {wait} seconds.",
            wait,
        )


_MOST_SAID = 500


def refuse_message(
    channel: Channel, name: str, reason: str, *, sender: str = "", title: str = ""
) -> Accepted:
    """Record once that a message is refused, and why.

    Args:
        channel: The receiving channel.
        name: A unique id of the message, under which it may still be accepted later. Not a mail's
            Message-ID, which its sender can choose.
        reason: One sentence.
        sender: The sender's address.
        title: The subject.
    """
    row, is_new = InboundMessage.objects.get_or_create(
        channel=channel,
        external_id=f"refused:{name}",
        defaults={
            "sender": sender,
            "title": title,
            "status": InboundStatus.REFUSED,
            "reason": reason[:_MOST_SAID],
        },
    )
    return Accepted(row.run_id, row.conversation_id, is_duplicate=not is_new)


#: One sender gets at most a quarter of the hourly messages, and at least five. This stops loops
#: between two machines that do not mark their mails as automatic.
ONES_PART = 4
ONES_LEAST = 5


def receive_mail(channel: Channel, raw: bytes) -> Accepted:
    """Give a raw mail to the channel's agent, unless it is automatic or its sender is not allowed.

    Raises:
        UnreadableMailError: The bytes are not a mail.
        ChannelClosedError, TooManyMessagesError, AgentNotFoundError, HaltedError,
        QuotaExceededError: As for ``accept_message``.
    """
    mail = read_mail(raw)
    reason = refusal_reason(channel, mail)
    if not reason:
        message = to_inbound(channel, mail)
        taken = InboundMessage.objects.filter(channel=channel, external_id=message.external_id)
        reason = "" if taken.exists() else _too_many(channel, message.sender)
        if not reason:
            return accept_message(channel, message)
    name = hashlib.sha256(raw).hexdigest()
    return refuse_message(channel, name, reason, sender=mail.sender, title=mail.subject)


def _too_many(channel: Channel, sender: str) -> str:
    most = max(ONES_LEAST, channel.hourly_limit // ONES_PART)
    recent = InboundMessage.objects.filter(
        channel=channel,
        sender=sender,
        status=InboundStatus.ACCEPTED,
        received_at__gt=timezone.now() - HOUR,
    )
    if recent.count() < most:
        return ""
    return f"Its sender has written {most} mails within an hour, which is the most of one sender."
