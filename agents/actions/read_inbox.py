"""Read an agent's inbox: what is read is read once, by one of its runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from agents.messaging.texts import as_inbox_entry
from agents.models import InboxEntry

if TYPE_CHECKING:
    from agents.models import Run

_FRAME_BYTES = 60  # of the result around the messages


@dataclass(frozen=True, slots=True)
class Read:
    """Messages, the oldest first (on each thread in its order), and how many are left unread."""

    messages: tuple[dict[str, Any], ...]
    unread: int


@transaction.atomic
def read_inbox(run: Run, *, limit: int) -> Read:
    """Take the oldest unread messages out of the inbox of a run's agent.

    Runs of one agent that read at the same time wait for each other, so that none of them gets a
    thread's later message while another one undoes its reading of an earlier one.

    Args:
        run: The one that reads, with its version.
        limit: How many at most; fewer where they would not fit into a tool's result.
    """
    unread = InboxEntry.objects.filter(agent=run.version.agent_id, read_at__isnull=True)
    entries = unread.select_for_update(of=("self",)).select_related("message").order_by("pk")
    room = int(run.version.snapshot["limits"]["max_tool_output_bytes"]) - _FRAME_BYTES
    taken: list[InboxEntry] = []
    messages: list[dict[str, Any]] = []
    for entry in entries[:limit]:
        message = as_inbox_entry(entry.message)
        room -= len(json.dumps(message, ensure_ascii=False).encode())
        if messages and room < 0:
            break  # the first alone is too long only where the agent's limit is less than usual
        taken.append(entry)
        messages.append(message)
    mine = InboxEntry.objects.filter(pk__in=[entry.pk for entry in taken])
    mine.update(read_at=timezone.now(), run_id=run.pk)
    return Read(tuple(messages), unread.count())
