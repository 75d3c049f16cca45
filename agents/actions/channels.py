"""Save and remove channels; a new one gets a secret."""

from __future__ import annotations

from django.db import transaction

from agents.delivery.webhooks import new_secret
from agents.errors import ChannelNotFoundError
from agents.inbound.channels import check_channel, refuse_a_second
from agents.models import Channel
from heartbit_site.base import secrets
from heartbit_site.base.audit import Actor, changes, record_on
from heartbit_site.base.errors import ConfigurationError, about
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require

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
            sealed = secrets.seal(channel, "imap_password", password) if password else ""
            channel.imap_password = sealed
            channel.save(update_fields=["imap_password"])
    return secret


def _has_password(before: Channel | None, password: str | None) -> bool:
    return bool(password) or (
        password is None and before is not None and bool(before.imap_password)
    )


def _make(channel: Channel, by: Actor) -> str:
    secret = new_secret()
    channel.save()
    channel.secret = secrets.seal(channel, "secret", secret)
    channel.save(update_fields=["secret"])
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
