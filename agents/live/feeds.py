"""Feeds of changes in watched workspaces: read once per process, shared by all sockets.

Each watched workspace has one feed in a process, however many sockets watch it. A feed reads the
workspace's numbers (``agents.live.pulse``) when a hint arrives, at most twice a second, and every
few seconds without one, because hints are lossy. Unwatched workspaces are not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from asyncio import AbstractEventLoop
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from django.db import Error

from agents.live.changes import EVERYWHERE, KINDS
from agents.live.listener import Listener
from agents.live.pulse import Pulse, read_pulse
from heartbit_site.base import aio, orm
from heartbit_site.base.models import Workspace

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 0.5  # between two reads of one workspace, however many hints arrive
PAUSE_READS = 5  # a pause also lasts this many times a read: a busy database is read less often
LOOK_SECONDS = 5.0  # without a hint
UNHINTED_LOOK_SECONDS = 2.0  # while no hints can arrive
LINGER_SECONDS = 30.0  # keeps the subscription for the user's next page
#: Tolerated clock difference of two web processes: one rendered a page, another receives the hints.
SKEW_MS = 2000
REMEMBERED_MS = 60_000  # of hints


@dataclass(frozen=True, slots=True)
class News:
    """Latest reading of a feed.

    Attributes:
        revisions: By kind, a number that rises with each change; numbers of different feeds are
            unrelated.
    """

    pulse: Pulse
    revisions: Mapping[str, int]


class Subscription:
    """A socket's subscription to one or more feeds."""

    def __init__(self, feeds: Iterable[Feed], hints: Hints) -> None:
        self._feeds = list(feeds)
        self._hints = hints
        self._stirred = asyncio.Event()
        for feed in self._feeds:
            feed.subscriptions.add(self)
        self.stir()

    def stir(self) -> None:
        """Make ``next`` return."""
        self._stirred.set()

    async def next(self) -> list[News]:
        """Wait for a change and return the latest reading of each feed; readings never queue up."""
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            news = [feed.news for feed in self._feeds if feed.news is not None]
            if news and len(news) == len(self._feeds):
                return news

    def unchanged_since(self, moment_ms: int) -> set[str]:
        """Return the kinds without any possible hint since then; see ``Hints``."""
        reach = [feed.workspace_id for feed in self._feeds]
        return {kind for kind in KINDS if self._hints.none_since(moment_ms, reach, kind)}

    def leave(self) -> None:
        """Unsubscribe from all feeds."""
        for feed in self._feeds:
            feed.subscriptions.discard(self)


class Feed:
    """Reader of one workspace, or of all, for every subscription of this process.

    Attributes:
        workspace_id: None: all workspaces.
        news: Latest reading; None until the first one.
    """

    def __init__(self, workspace_id: int | None, listener: Listener) -> None:
        self.news: News | None = None
        self.subscriptions: set[Subscription] = set()
        self.workspace_id = workspace_id
        self._listener = listener
        self._hints: set[str] = set()
        self._hinted = asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    def hint(self, kinds: Iterable[str]) -> None:
        """Schedule a read of the workspace."""
        self._hints.update(kinds)
        self._hinted.set()

    async def stop(self) -> None:
        """Stop reading."""
        await aio.cancel_and_wait(self._task)

    async def _run(self) -> None:
        while True:
            began = time.monotonic()
            self._hinted.clear()
            kinds, self._hints = self._hints, set()
            try:
                pulse = await orm.read_in_thread(self._read)
            except Error as error:
                logger.warning("live pages cannot be updated: %s", str(error).strip())
                self._hints |= kinds
            except Exception:
                logger.exception("live pages cannot be updated")
                self._hints |= kinds
            else:
                self._take(pulse, kinds)
            took = time.monotonic() - began
            await asyncio.sleep(max(PAUSE_SECONDS, PAUSE_READS * took))
            look = LOOK_SECONDS if self._listener.is_connected else UNHINTED_LOOK_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(look):
                    await self._hinted.wait()

    def _read(self) -> Pulse:
        if self.workspace_id is None:
            return read_pulse(None)
        return read_pulse(Workspace(pk=self.workspace_id))

    def _take(self, pulse: Pulse, kinds: set[str]) -> None:
        if self.news is None:
            # Start from the time, so that a page that reconnects to another process sees other
            # numbers.
            first = time.time_ns() // 1_000_000
            self.news = News(pulse, dict.fromkeys(KINDS, first))
        else:
            changed = kinds | _changed(self.news.pulse, pulse)
            if not changed:
                return
            before = self.news.revisions
            self.news = News(pulse, {kind: before[kind] + (kind in changed) for kind in KINDS})
        for subscription in self.subscriptions:
            subscription.stir()


def _changed(before: Pulse, now: Pulse) -> set[str]:
    """Return the kinds whose numbers differ, in case the hint was lost."""
    changed = set()
    if (before.waiting, before.newest_waiting) != (now.waiting, now.newest_waiting):
        changed.add("calls")
    if (before.newest_run, before.statuses) != (now.newest_run, now.statuses):
        changed.add("runs")
    return changed


class Hints:
    """Times of the last hints: a page that was rendered after them is up to date when it connects.

    Hints are lossy, so this only saves a page from fetching its content twice; it proves nothing.
    """

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self._heard: dict[tuple[int, str], int] = {}

    def hear(self, workspace_id: int, kinds: Iterable[str]) -> None:
        """Record a hint."""
        now = time.time_ns() // 1_000_000
        oldest = now - REMEMBERED_MS
        self._heard = {key: at for key, at in self._heard.items() if at > oldest}
        self._heard.update(((workspace_id, kind), now) for kind in kinds)

    def none_since(self, moment_ms: int, reach: Sequence[int | None], kind: str) -> bool:
        """Return True if hints were received without interruption since then, and none matches.

        Args:
            moment_ms: Milliseconds since 1970.
            reach: Ids of workspaces; None stands for all.
            kind: Kind of change.
        """
        began = None if self.listener is None else self.listener.connected_since_ms
        earliest = moment_ms - SKEW_MS
        if began is None or began > earliest:
            return False
        if earliest < time.time_ns() // 1_000_000 - REMEMBERED_MS:
            return False
        return not any(
            at >= earliest
            for (workspace_id, of), at in self._heard.items()
            if of == kind and (None in reach or workspace_id in (EVERYWHERE, *reach))
        )


class _Hub:
    """Feeds of one loop with their shared hint listener."""

    def __init__(self) -> None:
        self._hints = Hints()
        self._feeds: dict[int | None, Feed] = {}
        self._listener: Listener | None = None
        self._resting: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def attend(self, workspace_ids: Sequence[int | None]) -> Subscription:
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        if self._listener is None:
            self._listener = self._hints.listener = Listener(self._hear)
        for workspace_id in workspace_ids:
            if workspace_id not in self._feeds:
                self._feeds[workspace_id] = Feed(workspace_id, self._listener)
        return Subscription((self._feeds[one] for one in workspace_ids), self._hints)

    def leave(self, subscription: Subscription) -> None:
        subscription.leave()
        for workspace_id in [one for one, feed in self._feeds.items() if not feed.subscriptions]:
            self._end(self._feeds.pop(workspace_id))
        if not self._feeds and self._resting is None:
            loop = asyncio.get_running_loop()
            self._resting = loop.call_later(LINGER_SECONDS, self._rest)

    def _rest(self) -> None:
        self._resting = None
        if self._listener is not None:
            self._end(self._listener)
            self._listener = self._hints.listener = None

    def _end(self, part: Feed | Listener) -> None:
        task = asyncio.ensure_future(part.stop())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _hear(self, workspace_id: int, kinds: Iterable[str]) -> None:
        self._hints.hear(workspace_id, kinds)
        for watched, feed in self._feeds.items():
            if watched is None or workspace_id in (EVERYWHERE, watched):
                feed.hint(kinds)


@contextlib.contextmanager
def subscribed(workspace_ids: Iterable[int | None]) -> Iterator[Subscription]:
    """Watch workspaces on the running loop; None stands for all of them in one feed."""
    hub = _hubs.setdefault(asyncio.get_running_loop(), _Hub())
    subscription = hub.attend(list(workspace_ids))
    try:
        yield subscription
    finally:
        hub.leave(subscription)


_hubs: WeakKeyDictionary[AbstractEventLoop, _Hub] = WeakKeyDictionary()
