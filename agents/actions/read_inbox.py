"""Read an agent's inbox: each message is read once, by one of its runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents.messaging.texts import as_inbox_entry
from agents.models import InboxEntry, Run

_FRAME_BYTES = 60  # JSON around the messages in the result


@dataclass(frozen=True, slots=True)
class Read:
    """Messages, oldest first (per thread in its order), and the number still unread."""

    messages: tuple[dict[str, Any], ...]
    unread: int


@transaction.atomic
def read_inbox(run: Run, *, limit: int) -> Read:
    """Mark the oldest unread messages of a run's agent as read, and return them.

    Concurrent reads by one agent's runs are serialized, so that no run gets a thread's later
    message while another rolls back its reading of an earlier one.

    Args:
        run: The reading run, with its version.
        limit: Maximum number of messages; fewer if they would not fit into a tool's result.
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
            break  # the first is always taken: it is too long only below the default limit
        taken.append(entry)
        messages.append(message)
    mine = InboxEntry.objects.filter(pk__in=[entry.pk for entry in taken])
    mine.update(read_at=timezone.now(), run_id=run.pk)
    return Read(tuple(messages), unread.count())
