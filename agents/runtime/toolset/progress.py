"""Progress of a tool that runs, as pages show it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Final

from agents.live.pubsub import RunPublisher
from heartbit_site.base.untrusted import clean_text

MOST_CHARACTERS: Final = 200
PAUSE_SECONDS: Final = 0.1  # between two sentences of a call


class ToolProgress:
    """Implementation of ``ToolContext.emit`` for one call; made on the process's loop.

    Sentences are best effort and never journaled. Those that follow too fast are dropped.
    """

    def __init__(self, publisher: RunPublisher, call_id: str) -> None:
        self._publisher = publisher
        self._call_id = call_id
        self._loop = asyncio.get_running_loop()
        self._again = 0.0

    def __call__(self, text: str) -> None:
        """Show a sentence in place of the call's last one, from the loop or a tool's thread."""
        now = time.monotonic()
        if now < self._again:
            return
        self._again = now + PAUSE_SECONDS
        line = " ".join(clean_text(text[: 4 * MOST_CHARACTERS]).split())[:MOST_CHARACTERS]
        # The loop may be closed: a tool whose time is over continues in its thread.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._publisher.progress, self._call_id, line)
