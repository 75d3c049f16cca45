"""Read the mailboxes of channels: what has come since the last look is given to their agents."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from agents.actions.receive_mail import receive_mail, refuse_mail
from agents.errors import (
    AgentNotFoundError,
    ChannelClosedError,
    EmptyTaskError,
    HaltedError,
    MailboxError,
    QuotaSpentError,
    UnreadableMailError,
)
from agents.inbound.imap import MOST_BYTES, Account, Mailbox, open_mailbox
from agents.inbound.mailboxes import mailboxes
from agents.models import Channel
from heartbit_site.base import secrets
from heartbit_site.base.secrets import SecretError

if TYPE_CHECKING:
    from agents.inbound.imap import Security

logger = logging.getLogger(__name__)

#: A mailbox that was looked at is left alone for so long.
REST = timedelta(seconds=20)
#: After this no further mailbox is opened: the next look begins with those.
LOOK_SECONDS = 60.0
MOST_AT_ONCE = 50  # mails of one mailbox
_MOST_SAID = 500

#: What passes: the mail stays where it is, and is taken by a later look.
_LATER = (AgentNotFoundError, ChannelClosedError, HaltedError, QuotaSpentError)


def poll_mailboxes() -> int:
    """Look into each, those longest not looked at first; how many mails were dealt with.

    Any number may look at once: a mail is taken once, whoever has seen it.
    """
    found, ends = 0, time.monotonic() + LOOK_SECONDS
    rested = Q(looked_at__isnull=True) | Q(looked_at__lt=timezone.now() - REST)
    due = mailboxes().filter(rested).order_by(F("looked_at").asc(nulls_first=True), "pk")
    for channel in due.select_related("workspace"):
        if time.monotonic() > ends:
            break
        looked = Channel.objects.filter(pk=channel.pk, looked_at=channel.looked_at)
        if not looked.update(looked_at=timezone.now()):
            continue  # somebody else was quicker
        found += _look(channel)
    return found


def _look(channel: Channel) -> int:
    dealt_with = 0
    trouble = ""
    try:
        with open_mailbox(_account(channel)) as mailbox:
            _count_from_now(channel, mailbox)
            for uid in mailbox.after(channel.last_uid, most=MOST_AT_ONCE):
                _take(channel, mailbox, uid)
                dealt_with += 1
    except (MailboxError, SecretError) as error:
        trouble = str(error)
    except _LATER as error:
        trouble = f"Mails wait in the mailbox: {error}"
    Channel.objects.filter(pk=channel.pk).update(trouble=trouble[:_MOST_SAID])
    return dealt_with


def _account(channel: Channel) -> Account:
    return Account(
        host=channel.imap_host,
        port=channel.imap_port,
        security=cast("Security", channel.imap_security),
        user=channel.imap_user,
        password=secrets.reveal(channel, "imap_password"),
        folder=channel.imap_folder,
    )


def _count_from_now(channel: Channel, mailbox: Mailbox) -> None:
    """Of a folder that is new to the channel, nobody answers what was there before."""
    if channel.uid_validity == mailbox.uid_validity:
        return
    if channel.uid_validity is not None:
        logger.warning(
            "the mailbox of channel %s numbers its mails anew: those that came since the last look "
            "are not answered",
            channel.pk,
        )
    channel.uid_validity, channel.last_uid = mailbox.uid_validity, mailbox.uid_next - 1
    channel.save(update_fields=["uid_validity", "last_uid"])


def _take(channel: Channel, mailbox: Mailbox, uid: int) -> None:
    """Deal with one mail, and note that in the same transaction."""
    size = mailbox.size(uid)
    raw = mailbox.fetch(uid) if size is not None and size <= MOST_BYTES else None
    with transaction.atomic():
        if raw is not None:
            _receive(channel, mailbox, uid, raw)
        elif size is not None and size > MOST_BYTES:
            reason = f"It is larger than {MOST_BYTES:,} bytes."
            refuse_mail(channel, _name(mailbox, uid), reason)
        counted = Channel.objects.filter(pk=channel.pk, uid_validity=mailbox.uid_validity)
        counted.filter(last_uid__lt=uid).update(last_uid=uid)


def _receive(channel: Channel, mailbox: Mailbox, uid: int, raw: bytes) -> None:
    try:
        receive_mail(channel, raw)
    except (UnreadableMailError, EmptyTaskError) as error:
        refuse_mail(channel, _name(mailbox, uid), str(error))


def _name(mailbox: Mailbox, uid: int) -> str:
    """An id for a mail whose own cannot be read."""
    return f"imap:{mailbox.uid_validity}:{uid}"
