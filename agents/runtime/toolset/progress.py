"""Progress messages of running tools for the pages."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Final

from agents.live.pubsub import RunPublisher
from heartbit_site.base.untrusted import clean_text

MOST_CHARACTERS: Final = 200
PAUSE_SECONDS: Final = 0.1  # minimum time between two messages of a call


class ToolProgress:
    """Implementation of ``ToolContext.emit`` for one call; create on the process's loop.

    Messages are best effort and never journaled. A message too soon after another is dropped.
    """

    def __init__(self, publisher: RunPublisher, call_id: str) -> None:
        self._publisher = publisher
        self._call_id = call_id
        self._loop = asyncio.get_running_loop()
        self._again = 0.0

    def __call__(self, text: str) -> None:
        """Replace the call's last message, from the loop or a tool's thread."""
        now = time.monotonic()
        if now < self._again:
            return
        self._again = now + PAUSE_SECONDS
        line = " ".join(clean_text(text[: 4 * MOST_CHARACTERS]).split())[:MOST_CHARACTERS]
        # The loop may be closed: a tool that timed out continues in its thread.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._publisher.progress, self._call_id, line)
