"""Hints that something changed in a workspace, sent to every web process over the Channels layer.

A hint names workspaces and kinds, and holds no data::

    {"type": "changes", "workspaces": {"3": ["calls", "runs"]}}

Hints are lossy: the rows are in Postgres, and the next poll (``agents.live.feeds``) finds a change
whose hint was lost. So nothing waits for Valkey: a thread of the process collects hints and sends
them at most ten times a second.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
from functools import partial
from typing import Any, Final, Literal

from django.db import transaction

logger = logging.getLogger(__name__)

#: ``runs``: a new run or status. ``calls``: a call that waits for a person, or a vote on one.
#: ``fleet``: a worker started, left or was asked to leave; a queue was paused.
#: ``knowledge``: a part of a document was read, or it could not be.
#: ``definitions``: a row that people edit was added, changed or deleted, or a schedule fired.
Kind = Literal["runs", "calls", "fleet", "knowledge", "definitions"]
KINDS: Final[tuple[Kind, ...]] = ("runs", "calls", "fleet", "knowledge", "definitions")
#: Stands for every workspace if the affected one is unknown.
EVERYWHERE: Final = 0
GROUP: Final = "changes"
PAUSE_SECONDS = 0.1
RETRY_SECONDS = 1.0
PATIENCE_SECONDS = 2.0
FLUSH_SECONDS = 0.5


def notify(workspace_id: int, *kinds: Kind) -> None:
    """Send a hint soon, from any thread or loop. Call only after the change is committed."""
    _notifier.put(workspace_id, kinds)


def notify_on_commit(workspace_id: int, *kinds: Kind) -> None:
    """Send a hint when the transaction of Django's connection is committed, or at once."""
    transaction.on_commit(partial(notify, workspace_id, *kinds))


class Notifier:
    """Collects the hints of a process and sends them from a thread of its own.

    Unsent hints are kept, merged by workspace, and retried.
    """

    def __init__(self) -> None:
        self._pending: dict[int, set[Kind]] = {}
        self._lock = threading.Lock()
        self._stirred = threading.Event()
        self._idle = threading.Event()
        self._thread: threading.Thread | None = None
        self._fails = False

    def put(self, workspace_id: int, kinds: tuple[Kind, ...]) -> None:
        """Add a hint; the thread starts with the first one."""
        with self._lock:
            self._pending.setdefault(workspace_id, set()).update(kinds)
            self._idle.clear()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="notify", daemon=True)
                self._thread.start()
        if not self._stirred.is_set():
            self._stirred.set()

    def flush(self, seconds: float = FLUSH_SECONDS) -> None:
        """Wait up to ``seconds`` until everything is sent; not at all while Valkey is down."""
        if self._thread is not None and not self._fails:
            self._idle.wait(seconds)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while True:
                self._stirred.wait()
                self._stirred.clear()
                batch = self._take()
                if batch and not self._sent(runner, batch):
                    self._keep(batch)
                    time.sleep(RETRY_SECONDS)
                    self._stirred.set()
                    continue
                with self._lock:
                    if not self._pending:
                        self._idle.set()
                time.sleep(PAUSE_SECONDS)

    def _take(self) -> dict[int, set[Kind]]:
        with self._lock:
            batch, self._pending = self._pending, {}
        return batch

    def _keep(self, batch: dict[int, set[Kind]]) -> None:
        with self._lock:
            for workspace_id, kinds in batch.items():
                self._pending.setdefault(workspace_id, set()).update(kinds)

    def _sent(self, runner: asyncio.Runner, batch: dict[int, set[Kind]]) -> bool:
        from redis.exceptions import RedisError  # noqa: PLC0415  slow, and most commands send none

        try:
            runner.run(_send(batch))
        except (RedisError, OSError) as error:
            if not self._fails:
                logger.info("hints to web pages wait for Valkey (%s)", error)
            self._fails = True
        except Exception:  # the thread must survive any error to send the next hint
            logger.exception("hints to web pages could not be sent")
            self._fails = True
        else:
            self._fails = False
        return not self._fails


async def _send(batch: dict[int, set[Kind]]) -> None:
    from channels.layers import get_channel_layer  # noqa: PLC0415  as above

    layer: Any = get_channel_layer()
    workspaces = {str(workspace_id): sorted(kinds) for workspace_id, kinds in batch.items()}
    async with asyncio.timeout(PATIENCE_SECONDS):
        await layer.group_send(GROUP, {"type": "changes", "workspaces": workspaces})


_notifier = Notifier()


def _begin_anew() -> None:
    """Give a forked process its own notifier: threads and connections stay with the parent."""
    global _notifier
    _notifier = Notifier()


os.register_at_fork(after_in_child=_begin_anew)
atexit.register(lambda: _notifier.flush())
