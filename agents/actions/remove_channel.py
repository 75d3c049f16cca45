"""Remove a channel and its log of messages."""

from __future__ import annotations

from django.db import transaction

from agents.models import Channel
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.rights import require


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
