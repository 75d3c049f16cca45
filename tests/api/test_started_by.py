"""Who started a run, over the API: a person's session, or a key by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Agent, Run
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.scopes import SCOPES
from tests.api.server import Caller
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

TOKEN = "c" * 32


@pytest.fixture
def thread(caller: Caller, workspace: Workspace) -> str:
    """With an agent whose queue nobody serves, as that of all runs here."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    found: str = caller.post("/conversations", {"agent": "writer"}).json()["id"]
    return found


@pytest.fixture
def seated(web: WebServer, workspace: Workspace) -> Iterator[Callable[[User], Caller]]:
    """Callers with the session of a person."""
    made: list[Caller] = []

    def of(user: User) -> Caller:
        found = Caller(web, "")
        found.http.cookies.update({"sessionid": session_of(user), "csrftoken": TOKEN})
        found.http.headers.update({"X-CSRFToken": TOKEN, "Heartbit-Workspace": workspace.slug})
        made.append(found)
        return found

    yield of
    for one in made:
        one.http.close()


def start_all(caller: Caller, thread: str) -> list[str]:
    """A run, a message, a fork and a retry, in that order."""
    run = caller.submit("x", agent="writer")["id"]
    said = caller.post(f"/conversations/{thread}/messages", {"text": "Hello"}).json()["run_id"]
    fork = caller.post(f"/runs/{run}/fork", {"turn": 0}).json()["id"]
    caller.post(f"/runs/{run}/cancel")
    retry = caller.post(f"/runs/{run}/retry").json()["id"]
    return [run, said, fork, retry]


def starters(ids: list[str]) -> set[tuple[str, int | None]]:
    return set(Run.objects.filter(pk__in=ids).values_list("started_by", "started_user"))


def mine(caller: Caller, **query: Any) -> list[str]:
    response = caller.get("/runs", mine=True, **query)
    assert response.status_code == 200, response.text
    return [row["id"] for row in response.json()["runs"]]


def test_given_a_session_then_all_that_it_starts_is_the_persons(
    thread: str, workspace: Workspace, seated: Callable[[User], Caller]
) -> None:
    ada = member(workspace)
    session = seated(ada)
    ids = start_all(session, thread)
    assert starters(ids) == {(ada.username, ada.pk)}
    assert session.get(f"/runs/{ids[0]}").json()["started_by"] == ada.username
    (message,) = session.get(f"/conversations/{thread}").json()["messages"]
    assert message["started_by"] == ada.username


def test_given_a_key_then_its_name_is_named_and_no_account(
    web: WebServer, thread: str, workspace: Workspace
) -> None:
    ada = member(workspace)
    program = Caller(web, create_api_key(workspace, "nightly", scopes=SCOPES, user=ada)[1])
    with program.http:
        ids = start_all(program, thread)
    assert starters(ids) == {(f"API key nightly of {ada.username}", None)}


def test_given_runs_of_several_when_each_asks_for_their_own_then_they_get_no_others(
    caller: Caller, thread: str, workspace: Workspace, seated: Callable[[User], Caller]
) -> None:
    ada, ben = (seated(member(workspace)) for _ in range(2))
    theirs = [one.submit("x", agent="writer")["id"] for one in (ada, ben, caller, ada)]
    assert mine(ada) == [theirs[3], theirs[0]]
    assert mine(ben) == [theirs[1]]
    assert mine(caller) == [theirs[2]]
    assert mine(ada, limit=1, cursor=theirs[3]) == [theirs[0]]
    ada.post(f"/runs/{theirs[0]}/cancel")
    assert mine(ada, status="cancelled", children=True) == [theirs[0]]
    assert len(caller.get("/runs").json()["runs"]) == 4
