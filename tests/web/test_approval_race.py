"""Of many who decide at the same moment one wins, and all hear who (R12)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections
from django.test import Client

from agents.actions.decide_call import approve_call, deny_call
from agents.errors import CallClosedError
from agents.models import Decision, ToolCall
from heartbit_site.base.audit import Actor
from tests.api.server import Caller, key_for
from tests.sizes import sized
from tests.web.people import member
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

RACES = sized(20, full=500)
DECIDERS = 10
#: Where the ten are, by turns, race after race. Without a request before it the code itself is
#: always the quickest, so that others can win in the races without it alone.
PLACES = (("key", "page", "here"), ("key", "page"), ("page",), ("key",))


class Deciders:
    """Ten people who decide with a program, on a page, or here (as a terminal does)."""

    def __init__(self, workspace: Workspace, site: WebServer) -> None:
        self.programs = Caller(site, key_for(workspace))
        self._browsers = [_logged_in(workspace) for _ in range(DECIDERS)]

    def decide(self, call: ToolCall, number: int, place: str) -> None:
        """Decide as one of them.

        Raises:
            CallClosedError: Somebody was quicker; the sentence is what they were told.
        """
        verdict = "deny" if number % 2 else "approve"
        match place:
            case "key":
                self._with_a_key(call, verdict)
            case "page":
                self._on_a_page(call, verdict, self._browsers[number])
            case _:
                _here(call, verdict, Actor(f"p{number}", "terminal"))

    def _with_a_key(self, call: ToolCall, verdict: str) -> None:
        body: dict[str, Any] = {"digest": call.digest, "verdict": verdict}
        answer = self.programs.post(f"/runs/{call.run_id}/calls/{call.call_id}/decision", body)
        if answer.status_code == 409:
            raise CallClosedError(answer.json()["detail"])
        assert answer.status_code == 200, answer.text

    def _on_a_page(self, call: ToolCall, verdict: str, browser: Client) -> None:
        """Decide as the prompt of a page, or a card, does."""
        answer = browser.post(
            f"/api/v1/runs/{call.run_id}/calls/{call.call_id}/decision",
            {"digest": call.digest, "verdict": verdict},
            content_type="application/json",
            headers={"Heartbit-Workspace": call.run.workspace.slug},
        )
        if answer.status_code == 409:
            raise CallClosedError(answer.json()["detail"])
        assert answer.status_code == 200, answer.content


def _logged_in(workspace: Workspace) -> Client:
    """The browser of a member."""
    browser = Client(headers={"host": "127.0.0.1"})
    user = member(workspace, "operator")
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return browser


def _here(call: ToolCall, verdict: str, by: Actor) -> None:
    if verdict == "approve":
        approve_call(call, digest=call.digest, by=by)
    else:
        deny_call(call, digest=call.digest, by=by, reason="no")


def _told(deed: Callable[[], object], gate: threading.Barrier) -> str:
    """What somebody who decides at the same moment as the others hears; empty: it is decided."""
    try:
        gate.wait(timeout=30)
        deed()
    except CallClosedError as error:
        return str(error)
    finally:
        connections.close_all()
    return ""


@pytest.fixture
def deciders(workspace: Workspace, site: WebServer) -> Iterator[Deciders]:
    found = Deciders(workspace, site)
    with found.programs.http:
        yield found


@pytest.mark.timeout(sized(120, full=900))
def test_given_ten_deciders_on_a_barrier_when_they_decide_then_one_wins_and_all_hear_who(
    workspace: Workspace, deciders: Deciders, record_property: Callable[[str, object], None]
) -> None:
    record_property("cases", RACES)
    won = {"api": 0, "web": 0, "terminal": 0}
    with ThreadPoolExecutor(DECIDERS) as pool:
        for race in range(RACES):
            call = unserved(workspace)
            gate = threading.Barrier(DECIDERS)
            places = PLACES[race % len(PLACES)]
            deeds = [
                partial(deciders.decide, call, number, places[number % len(places)])
                for number in range(DECIDERS)
            ]
            told = list(pool.map(partial(_told, gate=gate), deeds))
            decision = Decision.objects.get(run=call.run)
            won[decision.via] += 1
            assert told.count("") == 1, told
            [late] = set(told) - {""}
            assert f" {decision.verdict} by {decision.decided_by}" in late
    assert min(won.values()) > 0, f"each surface had its winners: {won}"
