"""The channels of this installation, through its database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions.remove_channel import remove_channel
from agents.actions.save_channel import save_channel
from agents.errors import ChannelNotFoundError
from agents.models import Channel, InboundMessage, WebhookEndpoint
from heartbit_site.api import channel_outputs as forms
from heartbit_site.api.channel_inputs import ChannelChangeIn, ChannelIn, columns_of
from heartbit_site.cli.deciding import actor
from heartbit_site.cli.requests_here import asked, checked
from heartbit_site.first_start import default_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping


class Here:
    """See ``channels.Channels``."""

    def all(self) -> list[dict[str, Any]]:
        """List the channels, the newest first."""
        rows = Channel.objects.filter(workspace=default_workspace()).order_by("-pk")
        return [forms.channel(row) for row in rows.select_related("made_by")]

    def messages(self, number: int, count: int) -> list[dict[str, Any]]:
        """List what came in by a channel, the newest first."""
        rows = InboundMessage.objects.filter(channel=_find(number)).order_by("-pk")
        return [forms.inbound(row) for row in rows[:count]]

    def webhooks(self) -> list[dict[str, Any]]:
        """List the webhooks."""
        rows = WebhookEndpoint.objects.filter(workspace=default_workspace()).order_by("-pk")
        return [{"webhook": row.pk, "name": row.name} for row in rows]

    def add(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make a channel."""
        columns, password = columns_of(checked(ChannelIn, given))
        row = Channel(workspace=default_workspace(), **columns)
        with asked():
            secret = save_channel(row, password=password, by=actor())
        return {**forms.channel(row), "secret": secret}

    def change(self, number: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change what is given."""
        columns, password = columns_of(checked(ChannelChangeIn, given))
        row = _find(number)
        for name, value in columns.items():
            setattr(row, name, value)
        with asked():
            save_channel(row, password=password, by=actor())
        return forms.channel(row)

    def remove(self, number: int) -> None:
        """Remove a channel, with the log of what came in."""
        remove_channel(_find(number), by=actor())


def _find(number: int) -> Channel:
    rows = Channel.objects.filter(workspace=default_workspace(), pk=number)
    row = rows.select_related("made_by", "workspace").first()
    if row is None:
        raise ChannelNotFoundError(
            "The channel was removed meanwhile: `heartbit channels` lists those there are."
        )
    return row
