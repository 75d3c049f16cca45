"""Read the mailboxes of channels: what has come since the last look is given to their agents."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, cast

from django.db import DatabaseError, transaction
from django.utils import timezone

from agents.actions.receive_mail import receive_mail, refuse_mail
from agents.errors import MailboxError, UnreadableMailError
from agents.inbound.imap import MOST_BYTES, MailAccount, Mailbox, open_mailbox
from agents.inbound.mailboxes import due_for_polling
from agents.models import Channel
from heartbit_site.base import secrets
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from agents.inbound.imap import Security

logger = logging.getLogger(__name__)

#: After this no further mailbox is opened: the next look begins with those.
LOOK_SECONDS = 60.0
MOST_AT_ONCE = 50  # mails of one mailbox
#: A mail that so many looks could not get is given up, so that those behind it are not.
MOST_STUCK = 5
_MOST_SAID = 500


def poll_mailboxes() -> int:
    """Look into each, those longest not looked at first; how many mails were dealt with.

    Any number may look at once: a mail is taken once, whoever has seen it.
    """
    found, ends = 0, time.monotonic() + LOOK_SECONDS
    for channel in due_for_polling(timezone.now()):
        if time.monotonic() > ends:
            break
        unseen = Channel.objects.filter(
            pk=channel.pk, enabled=True, last_polled_at=channel.last_polled_at
        )
        if unseen.update(last_polled_at=timezone.now()):  # else somebody was quicker, or it is gone
            found += _visit(channel)
    return found


def _visit(channel: Channel) -> int:
    """Look into one; whatever is wrong with it is its own trouble, and no other's."""
    found, trouble = 0, ""
    try:
        channel.refresh_from_db()  # it may be another mailbox by now
        with open_mailbox(_account(channel)) as mailbox:
            _count_from_now(channel, mailbox)
            for uid in mailbox.after(channel.last_uid, most=MOST_AT_ONCE):
                _take(channel, mailbox, uid)
                found += 1
    except MailboxError as error:
        trouble = str(error)
    except HeartbitError as error:  # it passes, or somebody mends it: what came waits
        trouble = f"Mails wait in the mailbox: {error}"
    except (Channel.DoesNotExist, DatabaseError) as error:
        logger.warning("the mailbox of channel %s was not read (%s)", channel.pk, error)
        return found
    except Exception:
        logger.exception("the mailbox of channel %s cannot be read", channel.pk)
        trouble = "Mails wait in the mailbox: one made the worker stumble, whose log says where."
    failures = channel.failures + 1 if trouble else 0
    Channel.objects.filter(pk=channel.pk).update(last_error=trouble[:_MOST_SAID], failures=failures)
    return found


def _account(channel: Channel) -> MailAccount:
    return MailAccount(
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
        said = (
            "The mailbox numbers its mails anew: those that came since the last look are not "
            "answered."
        )
        refuse_mail(channel, f"before:{mailbox.uid_validity}", said)
    channel.uid_validity, channel.last_uid = mailbox.uid_validity, mailbox.uid_next - 1
    channel.save(update_fields=["uid_validity", "last_uid"])


def _take(channel: Channel, mailbox: Mailbox, uid: int) -> None:
    """Deal with one mail, and note that in the same transaction."""
    try:
        size = mailbox.size(uid)
        raw = mailbox.fetch(uid) if size is not None and size <= MOST_BYTES else None
    except MailboxError:
        if channel.stuck_polls + 1 < MOST_STUCK:
            Channel.objects.filter(pk=channel.pk).update(stuck_polls=channel.stuck_polls + 1)
            raise
        size, raw = 0, None
    with transaction.atomic():
        if raw is not None:
            _receive(channel, mailbox, uid, raw)
        elif size is not None:  # else it is gone
            large = size > MOST_BYTES
            why = f"It is larger than {MOST_BYTES:,} bytes." if large else "It cannot be fetched."
            refuse_mail(channel, _name(mailbox, uid), why)
        counted = Channel.objects.filter(pk=channel.pk, uid_validity=mailbox.uid_validity)
        counted.filter(last_uid__lt=uid).update(last_uid=uid, stuck_polls=0)
    channel.stuck_polls = 0


def _receive(channel: Channel, mailbox: Mailbox, uid: int, raw: bytes) -> None:
    try:
        receive_mail(channel, raw)
    except UnreadableMailError as error:
        refuse_mail(channel, _name(mailbox, uid), str(error))


def _name(mailbox: Mailbox, uid: int) -> str:
    """What tells a mail from others that cannot be read."""
    return f"imap:{mailbox.uid_validity}:{uid}"
