"""What this installation keeps for people to read, from its database."""

from __future__ import annotations

from typing import Any

from agents.models import Delivery
from agents.querysets import id_range, load_message, messages_at, with_inboxes
from agents.usage import usage_of
from heartbit_site.api.delivery_outputs import result_delivery
from heartbit_site.api.message_outputs import message, message_summary, summaries
from heartbit_site.api.usage_outputs import usage
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.first_start import default_workspace


class Here:
    """See ``readings.Readings``."""

    def usage(self) -> dict[str, Any]:
        """What was used, against what may be."""
        return usage(usage_of(default_workspace()))

    def deliveries(self, run: str, status: str, count: int) -> list[dict[str, Any]]:
        """Where results went, the newest first."""
        rows = Delivery.objects.filter(workspace=default_workspace()).order_by("-pk")
        if run:
            span = id_range(run)
            if span is None:
                raise CommandError(
                    "No run's id begins so: it has at least 8 hexadecimal digits, as `heartbit "
                    "status` shows them.",
                    USAGE,
                )
            rows = rows.filter(run_id__range=span)
        if status:
            rows = rows.filter(status=status)
        return [result_delivery(row) for row in rows[:count]]

    def inbox(self, agent: str, count: int) -> list[dict[str, Any]]:
        """What an agent was written, the newest first."""
        rows = summaries(with_inboxes(messages_at(default_workspace(), to=agent)))
        return [message_summary(row) for row in rows.order_by("-pk")[:count]]

    def message(self, message_id: str) -> dict[str, Any]:
        """Return one message with the whole of its text."""
        return message(load_message(default_workspace(), message_id))
