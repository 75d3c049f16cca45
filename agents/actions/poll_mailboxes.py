"""Poll the mailboxes of channels, and give new mails to their agents."""

from __future__ import annotations

import logging
import time
from typing import cast

from django.db import DatabaseError, transaction
from django.utils import timezone

from agents.actions.receive_message import receive_mail, refuse_message
from agents.inbound.channels import due_for_polling
from agents.models import Channel
from heartbit_site.base import secrets
from heartbit_site.base.errors import HeartbitError
from tools.mail.errors import MailboxError, UnreadableMailError
from tools.mail.imap import MOST_BYTES, MailAccount, Mailbox, open_mailbox
from tools.mail.server import Security

logger = logging.getLogger(__name__)

#: After this no further mailbox is opened; the next call begins with the remaining ones.
LOOK_SECONDS = 60.0
MOST_AT_ONCE = 50  # mails of one mailbox
#: Failed fetches after which a mail is given up, so that the mails after it are read.
MOST_STUCK = 5
_MOST_SAID = 500


def poll_mailboxes() -> int:
    """Poll the due mailboxes, longest unpolled first; return the number of mails processed.

    Safe to run concurrently: each mail is accepted once.
    """
    found, ends = 0, time.monotonic() + LOOK_SECONDS
    for channel in due_for_polling(timezone.now()):
        if time.monotonic() > ends:
            break
        unseen = Channel.objects.filter(
            pk=channel.pk, enabled=True, last_polled_at=channel.last_polled_at
        )
        if unseen.update(
            last_polled_at=timezone.now()
        ):  # else polled by another process, or removed
            found += _visit(channel)
    return found


def _visit(channel: Channel) -> int:
    """Poll one mailbox; store a failure in its channel, so that it affects no other."""
    found, trouble = 0, ""
    try:
        channel.refresh_from_db()  # its mailbox may have been changed
        with open_mailbox(_account(channel)) as mailbox:
            _count_from_now(channel, mailbox)
            for uid in mailbox.after(channel.last_uid, most=MOST_AT_ONCE):
                _take(channel, mailbox, uid)
                found += 1
    except MailboxError as error:
        trouble = str(error)
    except HeartbitError as error:  # temporary, or to be mended by a person: the mails wait
        trouble = f"Mails wait in the mailbox: {error}"
    except (Channel.DoesNotExist, DatabaseError) as error:
        logger.warning("the mailbox of channel %s was not read (%s)", channel.pk, error)
        return found
    except Exception:
        logger.exception("the mailbox of channel %s cannot be read", channel.pk)
        trouble = "Mails wait in the mailbox: reading one failed; the worker's log says where."
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
    """Skip the mails that were in the folder before the channel first read it."""
    if channel.uid_validity == mailbox.uid_validity:
        return
    if channel.uid_validity is not None:
        said = (
            "The mailbox has renumbered its mails: those received since the last poll are not "
            "answered."
        )
        refuse_message(channel, f"before:{mailbox.uid_validity}", said)
    channel.uid_validity, channel.last_uid = mailbox.uid_validity, mailbox.uid_next - 1
    channel.save(update_fields=["uid_validity", "last_uid"])


def _take(channel: Channel, mailbox: Mailbox, uid: int) -> None:
    """Process one mail, and store its UID as read in the same transaction."""
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
        elif size is not None:  # else the mail was deleted
            large = size > MOST_BYTES
            why = f"It is larger than {MOST_BYTES:,} bytes." if large else "It cannot be fetched."
            refuse_message(channel, _name(mailbox, uid), why)
        counted = Channel.objects.filter(pk=channel.pk, uid_validity=mailbox.uid_validity)
        counted.filter(last_uid__lt=uid).update(last_uid=uid, stuck_polls=0)
    channel.stuck_polls = 0


def _receive(channel: Channel, mailbox: Mailbox, uid: int, raw: bytes) -> None:
    try:
        receive_mail(channel, raw)
    except UnreadableMailError as error:
        refuse_message(channel, _name(mailbox, uid), str(error))


def _name(mailbox: Mailbox, uid: int) -> str:
    """Return an id for a mail that cannot be read."""
    return f"imap:{mailbox.uid_validity}:{uid}"
