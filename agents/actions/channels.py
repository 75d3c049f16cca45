"""Save and remove channels, and pass new mails from their mailboxes to their agents."""

from __future__ import annotations

import logging
import time
from typing import cast

from django.db import DatabaseError, transaction
from django.utils import timezone

from agents.actions.receive_message import receive_mail, refuse_message
from agents.delivery.sending import new_secret
from agents.errors import ChannelNotFoundError
from agents.inbound.channels import check_channel, due_for_polling, refuse_a_second
from agents.models import Channel
from heartbit_site.base import secrets
from heartbit_site.base.audit import Actor, changes, record_on
from heartbit_site.base.errors import ConfigurationError, HeartbitError, about
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from tools.mail.imap import MOST_BYTES, MailAccount, Mailbox, open_mailbox
from tools.mail.parts import UnreadableMailError
from tools.mail.server import MailboxError, Security

logger = logging.getLogger(__name__)

_MAILBOX = ("imap_host", "imap_port", "imap_security", "imap_user", "imap_folder")
#: The changes of a channel that is only disabled.
OFF = {"enabled": [True, False]}
_WHERETO = {"imap_host", "imap_port", "imap_security"}
_ANEW = {"imap_host", "imap_user", "imap_folder", "enabled"}
_CHANGED = (
    *("name", "agent", "enabled", "approve", "hourly_limit", "deliver", "mapping", "senders"),
    *("reply", *_MAILBOX),
)


def save_channel(channel: Channel, *, password: str | None = None, by: Actor) -> str | None:
    """Validate and write a channel.

    Args:
        channel: A new or changed channel.
        password: Password of its mailbox; None: unchanged.
        by: The actor, for the audit.

    Returns:
        The secret of a new channel in plain text, which cannot be read again later; else None.

    Raises:
        ConfigurationError: A setting is not valid; the message names it.
        InvalidMappingError: The mapping is not valid.
        InvalidTargetsError: A delivery target is not valid.
        ChannelConflictError: The workspace has a channel of that name, or 100 channels.
        ChannelNotFoundError: The channel was removed meanwhile.
    """
    require(by, "workspace:manage", workspace_id=channel.workspace_id)
    if not channel.imap_host:
        password = ""  # the channel no longer reads a mailbox: delete the password
    with transaction.atomic():
        # Locked, so that concurrent requests cannot exceed the limit or reuse a name.
        workspace = Workspace.objects.select_for_update(no_key=True).get(pk=channel.workspace_id)
        before = Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
        if before is None and not channel._state.adding:
            raise ChannelNotFoundError("The channel was removed meanwhile.")
        # An invalid channel can still be disabled.
        if before is None or changes(before, channel, _CHANGED) != OFF:
            check_channel(channel, workspace, has_password=_has_password(before, password))
            refuse_a_second(channel, workspace)
        secret = None
        if before is None:
            secret = _make(channel, by)
        else:
            _change(channel, before, password, by)
        if password is not None:
            secrets.store(channel, "imap_password", password)
    return secret


def _has_password(before: Channel | None, password: str | None) -> bool:
    return bool(password) or (
        password is None and before is not None and bool(before.imap_password)
    )


def _make(channel: Channel, by: Actor) -> str:
    secret = new_secret()
    channel.save()
    secrets.store(channel, "secret", secret)
    channel.refresh_from_db(fields=["created_at"])
    details = {"kind": channel.kind, "agent": channel.agent}
    record_on(by, "channel.create", channel, details=details)
    return secret


def _change(channel: Channel, before: Channel, password: str | None, by: Actor) -> None:
    found = changes(before, channel, _CHANGED)
    if before.imap_password and password is None and found.keys() & _WHERETO:
        # Else a person could have the stored password, which is secret, sent to any server.
        with about("password"):
            raise ConfigurationError(
                "The mailbox is on another server now: enter its password as well, as the stored "
                "one belongs to the former server."
            )
    if password:
        found["imap_password"] = ["...", "..."]
    if not found:
        return
    channel.last_error, channel.failures = "", 0
    columns = [*_CHANGED, "last_error", "failures"]
    if found.keys() & _ANEW:  # a new or re-enabled mailbox is read from now on
        channel.uid_validity, channel.last_uid, channel.stuck_polls = None, 0, 0
        columns += ["uid_validity", "last_uid", "stuck_polls"]
    channel.save(update_fields=columns)
    record_on(by, "channel.change", channel, details=found)


@transaction.atomic
def remove_channel(channel: Channel, *, by: Actor) -> None:
    """Delete a channel; its conversations and runs stay."""
    require(by, "workspace:manage", workspace_id=channel.workspace_id)
    # Lock the channel first, as accepting a message does.
    row = Channel.objects.filter(pk=channel.pk)
    row.select_for_update(no_key=True).first()
    row.delete()
    details = {"kind": channel.kind, "agent": channel.agent}
    record_on(by, "channel.remove", channel, details=details)


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
        # Else it was polled by another process, or removed.
        if unseen.update(last_polled_at=timezone.now()):
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
