"""Save a channel; a new one gets its secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction

from agents.delivery.webhooks import new_secret
from agents.errors import ChannelNotFoundError
from agents.inbound.channels import check_channel, refuse_a_second
from agents.models import Channel
from heartbit_site.base import secrets
from heartbit_site.base.audit import Actor, changed, record
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAILBOX = ("imap_host", "imap_port", "imap_security", "imap_user", "imap_folder")
#: Nothing but this: it is switched off.
OFF = {"enabled": [True, False]}
_WHERETO = {"imap_host", "imap_port", "imap_security"}
_ANEW = {"imap_host", "imap_user", "imap_folder", "enabled"}
_CHANGED = (
    *("name", "agent", "enabled", "approve", "hourly_limit", "deliver", "mapping", "senders"),
    *("reply", *_MAILBOX),
)


def save_channel(channel: Channel, *, password: str | None = None, by: Actor) -> str | None:
    """Write the channel's row.

    Args:
        channel: New or changed.
        password: Of its mailbox; None: as it is.
        by: Who does it, for the audit.

    Returns:
        A new one's secret in plain text: show it now, it cannot be read again. Else None.

    Raises:
        ConfigurationError: Something of it cannot be as it is; the sentence says what.
        InvalidMappingError: The mapping is none.
        InvalidTargetsError: Where answers go is nowhere.
        ChannelConflictError: The workspace has a channel of that name, or 100.
        ChannelNotFoundError: It was removed meanwhile.
    """
    if not channel.imap_host:
        password = ""  # no mailbox is read any more: forget it
    with transaction.atomic():
        # One after the other, so that names and the limit hold.
        workspace = Workspace.objects.select_for_update(no_key=True).get(pk=channel.workspace_id)
        before = Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
        if before is None and not channel._state.adding:
            raise ChannelNotFoundError("The channel was removed meanwhile.")
        changes = {} if before is None else _changes(before, channel)
        if before is None or changes != OFF:  # what is wrong with it keeps nobody from that
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
    _record(channel, "channel.create", by, {"kind": channel.kind, "agent": channel.agent})
    return secret


def _changes(before: Channel, channel: Channel) -> dict[str, Any]:
    return {
        name: changed(getattr(before, name), getattr(channel, name))
        for name in _CHANGED
        if getattr(before, name) != getattr(channel, name)
    }


def _change(channel: Channel, before: Channel, password: str | None, by: Actor) -> None:
    changes = _changes(before, channel)
    if before.imap_password and password is None and changes.keys() & _WHERETO:
        # Else whoever may save channels could send the password, which nobody can read, anywhere.
        raise ConfigurationError(
            "The mailbox is at another place now: enter its password as well, as the stored one "
            "was given for the former."
        )
    if password:
        changes["imap_password"] = ["...", "..."]
    if not changes:
        return
    channel.last_error, channel.failures = "", 0
    columns = [*_CHANGED, "last_error", "failures"]
    if changes.keys() & _ANEW:  # another mailbox, or one that was left alone: it counts from now
        channel.uid_validity, channel.last_uid, channel.stuck_polls = None, 0, 0
        columns += ["uid_validity", "last_uid", "stuck_polls"]
    channel.save(update_fields=columns)
    _record(channel, "channel.change", by, changes)


def _record(channel: Channel, action: str, by: Actor, details: Mapping[str, Any]) -> None:
    record(
        by,
        action,
        workspace=channel.workspace,
        target=f"channel:{channel.pk}",
        label=channel.name,
        details=dict(details),
    )
