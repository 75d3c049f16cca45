"""The sockets of live pages: who hears of what, what it costs, and Valkey's absence."""

from __future__ import annotations

import asyncio
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from channels.layers import channel_layers
from channels_redis.pubsub import RedisPubSubChannelLayer
from django.conf import settings
from django.db.backends.utils import CursorWrapper
from redis.asyncio import Redis

from agents.actions.decide_call import deny_call
from agents.actions.runs import cancel_run
from agents.live import changes, feeds, listener
from agents.live.changes import Notifier, notify
from agents.live.member_consumer import FORBIDDEN, MALFORMED, NOT_FOUND, UNKNOWN, MemberConsumer
from agents.models import ToolCall
from heartbit_site.base import orm
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Membership, Workspace
from tests.chaos.valkey_server import ValkeyServer
from tests.starts import start_run
from tests.web.people import member, person, session_of
from tests.web.talk import Talk, opened
from tests.web.test_approvals import SUM, careful
from tests.web.test_socket_keys import another

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.fleet import Worker

FOREVER = 3600.0
ADMIN = "/ws/"


@pytest.fixture
def _hints_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked for: what a socket says, a hint has brought."""
    monkeypatch.setattr(feeds, "LOOK_SECONDS", FOREVER)
    monkeypatch.setattr(feeds, "UNHINTED_LOOK_SECONDS", FOREVER)


async def signed_in(workspace: Workspace, role: str = "admin") -> str:
    return await orm.run_in_thread(lambda: session_of(member(workspace, role)))


async def root() -> str:
    return await orm.run_in_thread(lambda: session_of(person(operator=True)))


async def heard(talk: Talk, what: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """The first frame of which it is true."""
    while not what(frame := await talk.hears()):
        pass
    return frame


async def subscribed() -> None:
    """Return when this loop's subscription is proven: a hint before that is nobody's."""
    hub: Any = feeds._hubs[asyncio.get_running_loop()]
    while not hub._listener.is_connected:
        await asyncio.sleep(0.01)


@pytest.mark.usefixtures("_hints_alone")
class TestHints:
    async def test_given_a_run_when_it_is_accepted_and_cancelled_then_its_pages_are_told(
        self, workspace: Workspace
    ) -> None:
        talk = await opened(f"/ws/{workspace.slug}/", await signed_in(workspace))
        first = await talk.hears()
        assert (first["live"], first["newest_run"]) == (0, None)
        await subscribed()
        run = await orm.run_in_thread(lambda: start_run(workspace, "Wait.", agent="writer"))
        began = await heard(talk, lambda frame: frame["newest_run"] == str(run))
        assert began["runs"] > first["runs"]
        await orm.run_in_thread(lambda: cancel_run(workspace, run, reason="not needed"))
        assert (await heard(talk, lambda frame: frame["runs"] > began["runs"]))["waiting"] == 0

    async def test_given_a_worker_when_a_run_waits_and_is_denied_then_both_sockets_are_told(
        self, workspace: Workspace, worker: Worker
    ) -> None:
        await orm.run_in_thread(lambda: careful(workspace))
        cookie = await signed_in(workspace)
        page = await opened(f"/ws/{workspace.slug}/", cookie)
        admin = await opened(ADMIN, cookie)
        assert [(await one.hears())["waiting"] for one in (page, admin)] == [0, 0]
        await subscribed()
        run = await orm.run_in_thread(lambda: start_run(workspace, SUM, agent="solo"))
        for one in (page, admin):
            await heard(one, lambda frame: frame["waiting"] == 1)

        def deny() -> None:
            call = ToolCall.objects.select_related("run__workspace", "run__version__agent")
            asked = call.get(run_id=run)
            deny_call(asked, digest=asked.digest, by=Actor("grace", "api"), reason="No.")

        await orm.run_in_thread(deny)
        await heard(admin, lambda frame: frame["waiting"] == 0)
        await heard(page, lambda frame: frame["waiting"] == frame["live"] == 0)

    async def test_given_a_change_elsewhere_then_those_who_may_not_see_it_hear_nothing(
        self, workspace: Workspace
    ) -> None:
        other = await orm.run_in_thread(another)
        mine = await opened(ADMIN, await signed_in(workspace, "viewer"))
        every = await opened(ADMIN, await root())
        first, before = await mine.hears(), await every.hears()
        assert set(first) == {"type", "waiting", "calls", "runs", "knowledge", "definitions"}
        assert set(before) == set(first) | {"fleet"}
        await subscribed()
        notify(other.pk, "runs", "calls")
        # One process hands a hint to all feeds at once: who hears of it has heard by now.
        after = await heard(every, lambda frame: frame["runs"] > before["runs"])
        notify(changes.EVERYWHERE, "fleet")
        await heard(every, lambda frame: frame["fleet"] > after["fleet"])
        notify(workspace.pk, "runs")
        assert await mine.hears() == first | {"runs": first["runs"] + 1}


@pytest.mark.usefixtures("_hints_alone")
class TestTheAdminsSocket:
    @pytest.mark.parametrize(("who", "code"), [("nobody", UNKNOWN), ("stranger", NOT_FOUND)])
    async def test_given_somebody_who_belongs_nowhere_then_it_is_closed(
        self, workspace: Workspace, who: str, code: int
    ) -> None:
        cookie = "" if who == "nobody" else await orm.run_in_thread(lambda: session_of(person()))
        assert await (await opened(ADMIN, cookie)).closed_with() == code

    async def test_given_a_key_then_it_is_closed(self, workspace: Workspace) -> None:
        _, key = await orm.run_in_thread(
            lambda: create_api_key(workspace, "reader", scopes=["runs:read"])
        )
        talk = await opened(ADMIN, authorization=f"Bearer {key}", origin="")
        assert await talk.closed_with() in (NOT_FOUND, FORBIDDEN)

    async def test_given_a_page_of_another_host_then_the_handshake_is_refused(
        self, workspace: Workspace
    ) -> None:
        talk = Talk(ADMIN, await signed_in(workspace), origin="https://evil.example")
        assert await talk.open() == "websocket.close"

    async def test_given_any_frame_then_it_is_closed(self, workspace: Workspace) -> None:
        talk = await opened(ADMIN, await signed_in(workspace))
        await talk.say('{"type": "resume"}')
        assert await talk.closed_with() == MALFORMED

    @pytest.mark.parametrize(
        ("how", "code"), [("logs out", UNKNOWN), ("leaves the workspace", NOT_FOUND)]
    )
    async def test_given_somebody_who_goes_then_it_is_closed(
        self, workspace: Workspace, how: str, code: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert MemberConsumer.check_seconds < 5
        monkeypatch.setattr(MemberConsumer, "check_seconds", 0.05)
        cookie = await signed_in(workspace)
        talk = await opened(ADMIN, cookie)
        await talk.hears()

        def go() -> None:
            if how == "logs out":
                import_module(settings.SESSION_ENGINE).SessionStore(cookie).delete()
            else:
                Membership.objects.filter(workspace=workspace).delete()

        await orm.run_in_thread(go)
        assert await talk.closed_with() == code

    async def test_given_when_a_page_was_drawn_then_its_first_frame_names_what_did_not_change_since(
        self, workspace: Workspace
    ) -> None:
        cookie = await signed_in(workspace)

        async def unchanged(drawn: float | str) -> list[str]:
            page = Talk(ADMIN, cookie, query=f"drawn={drawn}")
            assert await page.open() == "websocket.accept"
            found: list[str] = (await page.hears())["unchanged"]
            return found

        def now(*, later: int = 0) -> int:
            return time.time_ns() // 1_000_000 + feeds.SKEW_MS + later

        early = now()
        first = await opened(ADMIN, cookie)
        before = await first.hears()
        await subscribed()
        assert await unchanged(early - feeds.SKEW_MS) == []  # nobody listened yet
        drawn = now(later=1)
        assert await unchanged(drawn) == ["runs", "calls", "knowledge", "definitions"]
        await asyncio.sleep(0.05)
        notify(workspace.pk, "runs")
        await heard(first, lambda frame: frame["runs"] > before["runs"])
        assert await unchanged(drawn) == ["calls", "knowledge", "definitions"]
        assert await unchanged(now(later=1)) == ["runs", "calls", "knowledge", "definitions"]
        assert await unchanged(now() - feeds.REMEMBERED_MS) == []

    async def test_given_a_second_workspace_when_somebody_joins_it_then_they_hear_of_it_too(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(MemberConsumer, "check_seconds", 0.05)
        other = await orm.run_in_thread(another)
        user = await orm.run_in_thread(lambda: member(workspace, "viewer"))
        talk = await opened(ADMIN, await orm.run_in_thread(lambda: session_of(user)))
        first = await talk.hears()
        joined = Membership(workspace=other, user=user, role="viewer")
        await orm.run_in_thread(lambda: joined.save(force_insert=True))
        second = await heard(talk, lambda frame: frame["runs"] > first["runs"])
        notify(other.pk, "runs")
        await heard(talk, lambda frame: frame["runs"] > second["runs"])


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What this process asks the database, as it is asked."""
    asked: list[str] = []
    execute = CursorWrapper.execute

    def noted(cursor: Any, sql: Any, params: Any = None) -> Any:
        asked.append(str(sql))
        return execute(cursor, sql, params)

    monkeypatch.setattr(CursorWrapper, "execute", noted)
    return asked


class TestCost:
    async def test_given_many_idle_sockets_then_the_database_is_not_asked_for_each(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, statements: list[str]
    ) -> None:
        monkeypatch.setattr(
            MemberConsumer, "check_seconds", FOREVER
        )  # who may stay is another matter
        cookie = await signed_in(workspace)
        talks = [
            await opened(path, cookie)
            for path in [ADMIN, f"/ws/{workspace.slug}/"]
            for _ in range(20)
        ]
        for talk in talks:
            await talk.hears()
        await subscribed()
        read = len(statements)
        began = time.monotonic()
        await asyncio.sleep(3 * feeds.LOOK_SECONDS)
        reads = (time.monotonic() - began) / feeds.LOOK_SECONDS + 1
        assert len(statements) - read <= 3 * reads
        assert len(statements) > read  # it does look

    async def test_given_thousands_of_changes_then_a_process_sends_few_messages(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with own_valkey(tmp_path, monkeypatch) as valkey:
            client = Redis.from_url(valkey.url)
            channel = client.pubsub()
            await channel.psubscribe("*")
            notifier = Notifier()
            began = time.monotonic()
            for number in range(20_000):
                notifier.put(1 + number % 50, ("runs",))
            took = time.monotonic() - began
            await asyncio.to_thread(notifier.flush, 10)
            await asyncio.sleep(2 * changes.PAUSE_SECONDS)
            sent = 0
            while await channel.get_message(ignore_subscribe_messages=False, timeout=0.2):
                sent += 1
            await channel.aclose()  # type: ignore[no-untyped-call]
            await client.aclose()
        assert 1 <= sent - 1 <= took / changes.PAUSE_SECONDS + 3


def own_valkey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ValkeyServer:
    """A Valkey for the Channels layer of this process alone."""
    server = ValkeyServer(tmp_path / "valkey")
    layer = RedisPubSubChannelLayer(hosts=[server.url], prefix="heartbit:pages")
    monkeypatch.setitem(channel_layers.backends, "default", layer)
    monkeypatch.setattr(changes, "_notifier", Notifier())
    return server


@pytest.fixture
def valkey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ValkeyServer]:
    monkeypatch.setattr(listener, "PROBE_SECONDS", 0.2)
    monkeypatch.setattr(listener, "PATIENCE_SECONDS", 0.5)
    with own_valkey(tmp_path, monkeypatch) as server:
        yield server


class TestValkeyDown:
    @pytest.mark.parametrize("how", ["killed", "frozen"])
    async def test_given_no_valkey_then_changes_are_found_and_hints_come_back_with_it(
        self, workspace: Workspace, valkey: ValkeyServer, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        monkeypatch.setattr(feeds, "UNHINTED_LOOK_SECONDS", 0.2)
        cookie = await signed_in(workspace)
        talk = await opened(f"/ws/{workspace.slug}/", cookie)
        await talk.hears()
        await subscribed()
        hub: Any = feeds._hubs[asyncio.get_running_loop()]
        gone = getattr(valkey, how)()
        await asyncio.to_thread(gone.__enter__)
        try:
            while hub._listener.is_connected:
                await asyncio.sleep(0.01)
            run = await orm.run_in_thread(lambda: start_run(workspace, "Wait.", agent="writer"))
            found = await heard(talk, lambda frame: frame["newest_run"] == str(run))
            late = await opened(ADMIN, cookie)  # a page that is opened meanwhile
            assert (await late.hears())["type"] == "pulse"
            monkeypatch.setattr(feeds, "LOOK_SECONDS", FOREVER)  # from here on hints alone
        finally:
            await asyncio.to_thread(gone.__exit__, None, None, None)
        await subscribed()
        # Nobody knows what was missed, so everything is read and the page told to do the same.
        told = await heard(talk, lambda frame: frame["calls"] > found["calls"])
        again = await orm.run_in_thread(lambda: start_run(workspace, "Wait.", agent="writer"))
        after = await heard(talk, lambda frame: frame["newest_run"] == str(again))
        assert after["runs"] > told["runs"]
