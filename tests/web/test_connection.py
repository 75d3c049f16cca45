"""Pages say within five seconds that their server does not answer, and when it does again."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agents.live.member_consumer import MALFORMED
from heartbit_site.base import orm
from heartbit_site.base.actions.api_keys import create_api_key
from tests.api.server import WebServer
from tests.conftest import new_workspace
from tests.web.people import member, session_of
from tests.web.talk import opened, run_path, waiting_run
from tests.web.visitor import Visitor, visit
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import User
    from playwright.sync_api import Browser

    from heartbit_site.base.models import Workspace

MOST_MS = 5000
#: When the page last said that it is live, and how late its own clock came at worst meanwhile.
NOTED = """
([selector, live]) => {
  const noted = { began: performance.now(), changed: 0, late: 0 };
  window.noted = noted;
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    if (!noted.changed) noted.late = Math.max(noted.late, now - last - 50);
    last = now;
    const isLive = document.querySelector(selector).textContent === live;
    if (!isLive && !noted.changed) noted.changed = now;
  }, 50);
}
"""


class FreezableServer(WebServer):
    """A web server that can be frozen, as a machine that sleeps or hangs is."""

    def freeze(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)


@pytest.fixture
def frail(database: None) -> Iterator[FreezableServer]:
    with FreezableServer() as server:
        yield server
        server.thaw()


@pytest.fixture
def visitor(frail: FreezableServer, browser: Browser, workspace: Workspace) -> Iterator[Visitor]:
    found = visit(browser, frail.url, workspace, member(workspace))
    found.context.set_default_timeout(60_000)
    yield found
    found.context.close()


@pytest.mark.parametrize("place", ["run", "inbox", "admin"])
def test_given_a_server_when_it_freezes_then_the_page_says_so_in_five_seconds_and_comes_back(
    frail: FreezableServer, visitor: Visitor, workspace: Workspace, place: str
) -> None:
    call = unserved(workspace)
    page = visitor.page
    places = {"run": f"runs/{call.run_id}/", "inbox": "inbox/", "admin": "/admin/agents/agent/"}
    visitor.go(places[place])
    selector, live = (".live", "Live") if place == "run" else ("#connection", "")
    shown = page.locator(selector)
    if place != "admin":
        expect(page.locator("article.asked")).to_be_visible()
    expect(shown).to_have_text(live)
    page.evaluate(NOTED, [selector, live])
    frail.freeze()
    expect(shown).not_to_have_text(live, timeout=30_000)
    noted = page.evaluate("window.noted")
    assert noted["changed"] - noted["began"] <= MOST_MS + noted["late"]
    expect(shown).to_contain_text("Offline", timeout=30_000)
    frail.thaw()
    expect(shown).to_have_text(live, timeout=30_000)


@pytest.mark.parametrize("which", ["workspace", "run"])
async def test_given_a_ping_then_every_socket_answers(workspace: Workspace, which: str) -> None:
    run = await orm.run_in_thread(lambda: waiting_run(workspace))
    cookie = await orm.run_in_thread(lambda: session_of(member(workspace)))
    path = f"/ws/{workspace.slug}/" if which == "workspace" else run_path(workspace, run)
    talk = await opened(path, cookie)
    await talk.say('{"type": "ping"}')
    while (heard := await talk.hears()) != {"type": "pong"}:
        assert heard["type"] == "pulse"


async def test_given_somebody_who_looks_at_a_call_then_only_people_of_the_workspace_learn_of_it(
    workspace: Workspace,
) -> None:
    def prepare() -> tuple[list[User], list[str], Workspace, str]:
        elsewhere = new_workspace()
        people = [member(workspace), member(workspace), member(elsewhere)]
        _, key = create_api_key(workspace, "reader", scopes=["runs:read"])
        return people, [session_of(one) for one in people], elsewhere, key

    (ada, _, _), cookies, elsewhere, key = await orm.run_in_thread(prepare)
    look = '{"type": "look", "call": "0199/1.0/digest"}'
    said = []
    for place, cookie in zip((workspace, workspace, elsewhere), cookies, strict=True):
        talk = await opened(f"/ws/{place.slug}/", cookie)
        assert (await talk.hears())["type"] == "pulse"
        await talk.say(look)
        while "looks" not in (heard := await talk.hears()):
            pass
        said.append(heard["looks"]["said"])
    assert said == ["", f"{ada.username} looks at it too", ""]
    for who, frame in (
        ({"authorization": f"Bearer {key}", "origin": ""}, look),
        ({"cookie": cookies[0]}, '{"type": "look", "call": ["x"]}'),
    ):
        talk = await opened(f"/ws/{workspace.slug}/", **who)
        await talk.say(frame)
        assert await talk.closed_with() == MALFORMED
