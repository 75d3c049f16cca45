"""Remove a channel and its log of messages."""

from __future__ import annotations

from django.db import transaction

from agents.models import Channel
from heartbit_site.base.audit import Actor, record


@transaction.atomic
def remove_channel(channel: Channel, *, by: Actor) -> None:
    """Delete a channel; its conversations and runs stay."""
    # Lock the channel first, as accepting a message does.
    Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
    target, workspace, label = f"channel:{channel.pk}", channel.workspace, channel.name
    details = {"kind": channel.kind, "agent": channel.agent}
    channel.delete()
    record(by, "channel.remove", workspace=workspace, target=target, label=label, details=details)
