"""WebSockets of the pages: one run's tree, a workspace's pulse, and the admin's."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from django.contrib.auth import get_user_model

from agents.errors import RunNotFoundError
from agents.live.changes import KINDS
from agents.live.feeds import Subscription, subscribed
from agents.live.looks import is_key, look, said
from agents.live.member_consumer import IDLE, MALFORMED, NOT_FOUND, UNKNOWN, MemberConsumer
from agents.live.watchers import watch
from agents.querysets import find_run
from agents.reads.hidden_memories import texts_hidden_from
from agents.system_events.reader import Position, Wanted, follow_events, now
from agents.system_events.types import check_pattern
from heartbit_site.base import orm
from heartbit_site.base.access import is_session_valid, workspaces_of
from heartbit_site.base.errors import ConfigurationError

ASK_SECONDS = 10.0
MOST_OF_REASON = 60  # characters of a close's reason, which has 123 bytes
_DRAWN = re.compile(r"[0-9]{1,16}")
_OF_ALL = tuple(kind for kind in KINDS if kind != "fleet")  # the fleet is the operators'


class RunConsumer(MemberConsumer):
    """WebSocket of a run's tree: the journals, then live updates.

    The page sends one request, with its position: ``{"type": "resume", "after": {"<run>": seq}}``.
    It receives ``{"type": "lines", "lines": [...]}`` (``agents.live.page_lines``), and finally
    ``{"type": "end"}``. After a disconnect the page asks again, and misses nothing.
    """

    async def on_admitted(self) -> int | None:
        """Find the run, and wait for the page's request."""
        wanted = self.scope["url_route"]["kwargs"]["run"]
        try:
            run = await orm.run_in_thread(lambda: find_run(self.access, wanted))
        except RunNotFoundError:
            return NOT_FOUND
        self._root_id = run.root_id
        self._asked = asyncio.Event()
        self.start_task(self._hurry())
        return None

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        """Accept the one request."""
        after = _after(content)
        if after is None or self._asked.is_set():
            await self.close(MALFORMED)
            return
        self._asked.set()
        self.start_task(self._tell(after))

    async def _hurry(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._asked.wait(), ASK_SECONDS)
        if not self._asked.is_set():
            await self.close(IDLE)

    async def _tell(self, after: Mapping[UUID, int]) -> None:
        hidden = partial(texts_hidden_from, self.access, self._root_id)
        shown = watch(self._root_id, after=after, hidden=hidden)
        async with contextlib.aclosing(shown) as batches:
            async for batch in batches:
                await self.send(text_data=await batch.text())
        await self.send_json({"type": "end"})
        await self.close()


class WorkspaceConsumer(MemberConsumer):
    """WebSocket of a workspace's counts, sent at first and after each change.

    ``{"type": "pulse", "waiting": 2, "newest_waiting": 17, "live": 3, "newest_run": "0199...",
    "calls": 1764..., "runs": 1764..., ...}``; the numbers by kind (``agents.live.changes``) rise
    with each change, even if no count changes. For ``?drawn=`` see ``AdminConsumer``.

    A page that shows something that waits says so, ``{"type": "look", "call": "<its key>"}``, every
    few seconds. It receives the last pulse again, with who else looks at the same:
    ``"looks": {"call": "<its key>", "said": "grace looks at it too"}``.
    """

    async def on_admitted(self) -> int | None:
        """Begin."""
        self._last: dict[str, Any] = {}
        self.start_task(self._follow())
        return None

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        """Note what a person looks at, and answer who else does."""
        call, access = content.get("call"), self.access
        if content.get("type") != "look" or not is_key(call) or access.key_id is not None:
            await self.close(MALFORMED)
            return
        others = await look(access.workspace.pk, call, access.name)
        if self._last:
            seen = {"call": call, "said": said(others)}
            await self.send_json({"type": "pulse", **self._last, "looks": seen})

    async def _follow(self) -> None:
        kinds = KINDS if self.access.allows("fleet:manage") else _OF_ALL
        with subscribed([self.access.workspace.pk]) as subscription:
            while True:
                (news,) = await subscription.next()
                now: dict[str, Any] = {
                    "waiting": news.pulse.waiting,
                    "newest_waiting": news.pulse.newest_waiting,
                    "live": news.pulse.live,
                    "newest_run": news.pulse.newest_run,
                    **{kind: news.revisions[kind] for kind in kinds},
                }
                if now != self._last:
                    more = {} if self._last else _unchanged(self.scope, subscription, kinds)
                    self._last = now
                    await self.send_json({"type": "pulse", **now, **more})


class EventConsumer(MemberConsumer):
    """WebSocket of a workspace's system events (``agents.system_events``).

    The client sends one request: ``{"type": "subscribe", "events": ["run.*"], "agent": "writer",
    "after": "<id of an event>"}``; all but the type may be left out. It receives its position,
    ``{"type": "position", "id": "..."}``, then ``{"type": "event", "event": {...}}``, and asks for
    the rest after a disconnect.
    """

    _is_told = False

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        """Accept the one request."""
        patterns, agent = content.get("events", ["*"]), content.get("agent", "")
        after = content.get("after", "")
        try:
            if content.get("type") != "subscribe" or self._is_told:
                raise ValueError(content)
            wanted = Wanted.of(map(check_pattern, patterns), agent)
            place = Position.parse(after) if after else await orm.run_in_thread(now)
        except (TypeError, ValueError, AttributeError, ConfigurationError) as error:
            await self.close(MALFORMED, str(error)[:MOST_OF_REASON])
            return
        self._is_told = True
        self.start_task(self._tell(place, wanted))

    async def _tell(self, place: Position, wanted: Wanted) -> None:
        await self.send_json({"type": "position", "id": str(place)})
        pages = follow_events(lambda: self.access, place, wanted)
        async with contextlib.aclosing(pages):
            async for page in pages:
                for event in page.events:
                    await self.send_json({"type": "event", "event": event.model_dump(mode="json")})


class AdminConsumer(MemberConsumer):
    """WebSocket of an admin page: the sum over all workspaces of a person.

    ``{"type": "pulse", "waiting": 2, "calls": 1764..., "runs": 1764..., "knowledge": 1764...,
    "definitions": 1764..., "fleet": 1764...}``; the last ones rise with each change of that
    kind; the fleet is the operators'. The page then asks for its live regions again.

    With ``?drawn=<milliseconds since 1970>`` the first one names in ``"unchanged"`` what did not
    change since then, so that a page need not fetch what it was drawn with.
    """

    _reach: frozenset[int | None] = frozenset()
    _following: asyncio.Task[None] | None = None

    async def on_admitted(self) -> int | None:
        """Begin."""
        self._follow_reach()
        return None

    def _admitted(self) -> int | None:
        scope: Any = self.scope  # with ``heartbit_site.api.sockets``'s word on a key
        if "opened" in scope:
            # A key that opens something belongs to one workspace, whose socket it may open.
            return scope["opened"] if isinstance(scope["opened"], int) else NOT_FOUND
        user: Any = self.scope["user"]
        if not user.is_authenticated:
            return UNKNOWN
        self._reach = _reach_of(user.pk)
        return None if self._reach else NOT_FOUND

    def _still(self) -> int | None:
        user: Any = self.scope["user"]
        user_id: int = user.pk
        if not is_session_valid(self.scope["session"].session_key, user_id):
            return UNKNOWN
        now = _reach_of(user_id)
        if now != self._reach:
            self._reach = now
            self._loop.call_soon_threadsafe(self._follow_reach)
        return None if now else NOT_FOUND

    def _follow_reach(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._following is not None:
            self._following.cancel()
        if self._is_in or self._following is None:
            self._following = self.start_task(self._follow())

    async def _follow(self) -> None:
        reach = self._reach
        kinds = KINDS if None in reach else _OF_ALL
        last: dict[str, Any] = {}
        with subscribed(reach) as subscription:
            while True:
                news = await subscription.next()
                now: dict[str, Any] = {
                    "waiting": sum(one.pulse.waiting for one in news),
                    # Not the highest: another workspace's may hide a change.
                    **{kind: sum(one.revisions[kind] for one in news) for kind in kinds},
                }
                if now != last:
                    more = {} if last else _unchanged(self.scope, subscription, kinds)
                    await self.send_json({"type": "pulse", **now, **more})
                    last = now


def _unchanged(
    scope: Any, subscription: Subscription, kinds: Sequence[str]
) -> dict[str, list[str]]:
    query = parse_qs(scope["query_string"].decode(errors="replace"))
    [drawn] = query.get("drawn", [""])[:1]
    if not _DRAWN.fullmatch(drawn):
        return {}
    same = subscription.unchanged_since(int(drawn))
    return {"unchanged": [kind for kind in kinds if kind in same]}


def _reach_of(user_id: int) -> frozenset[int | None]:
    """Return the ids of the workspaces of a person; None stands for all of them."""
    user = get_user_model().objects.filter(pk=user_id, is_active=True).first()
    if user is None:
        return frozenset()
    if user.is_superuser:
        return frozenset({None})
    return frozenset(workspaces_of(user).order_by().values_list("pk", flat=True))


def _after(content: Any) -> dict[UUID, int] | None:
    """Return the page's position in its request; None if the request is malformed."""
    after = content.get("after", {})
    if content.get("type") != "resume" or not isinstance(after, dict):
        return None
    found = {}
    for run, seq in after.items():
        if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < 2**31:
            return None
        try:
            found[UUID(run)] = seq
        except ValueError:
            return None
    return found
