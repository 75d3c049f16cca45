"""Every list that can grow, through small pages: each row once and in order while others come."""

from __future__ import annotations

import importlib
import pkgutil
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import pytest
from django.conf import settings

from agents.actions.publish_agent import publish_agent
from agents.actions.run_request import start_conversation
from agents.journal.events import ModelAnswered, encode
from agents.llm.messages import AssistantMessage, Usage
from agents.models import Agent, InboundMessage, Run, RunEvent, ToolCall
from heartbit_site import contract
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Membership, Workspace
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.contract.operation import Operation, operations_of
from heartbit_site.remote.server import Server
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import FiringStatus
from scheduling.firings import record_firing
from scheduling.models import Schedule
from tests.api.server import key_for
from tests.doubtful import in_doubt
from tests.starts import start_run
from tests.web.matrix_world import MAKERS, agent_of
from tests.web.people import member, session_of
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.api.server import Caller, WebServer

ROWS = 5


class Listed(NamedTuple):
    """A list.

    Attributes:
        path: Its address.
        rows: What the answer calls them.
        names: The field that no two of them share.
        add: Adds the row of a number.
    """

    path: str
    rows: str
    names: str
    add: Callable[[int], object]


def approvals(workspace: Workspace) -> Listed:
    return Listed("/approvals", "calls", "run_id", lambda _: unserved(workspace))


def doubts(workspace: Workspace) -> Listed:
    return Listed("/uncertain-calls", "calls", "run_id", lambda _: in_doubt(workspace))


def agents(workspace: Workspace) -> Listed:
    """Those that come meanwhile are before, between and after the others."""

    def add(number: int) -> None:
        agent_of(workspace, f"{'hmrw'[number % 4]}{number}")

    return Listed("/agents", "agents", "name", add)


def versions(workspace: Workspace) -> Listed:
    agent = agent_of(workspace, "parked")

    def add(number: int) -> None:
        agent.system_prompt = f"Wait {number}."
        agent.save()
        publish_agent(agent)

    return Listed("/agents/parked/versions", "versions", "number", add)


def turns(workspace: Workspace) -> Listed:
    agent_of(workspace, "parked")
    run = Run.objects.get(pk=start_run(workspace, "x", agent="parked"))

    def add(number: int) -> None:
        turn = RunEvent.objects.filter(run=run, type=ModelAnswered.type).count() + 1
        answer = ModelAnswered(turn, AssistantMessage("x"), Usage(), "stop", "openai:fake")
        RunEvent.objects.create(run=run, seq=turn + 1, **encode(answer))

    return Listed(f"/runs/{run.pk}/turns", "turns", "number", add)


def calls(workspace: Workspace) -> Listed:
    agent_of(workspace, "parked")
    run = start_run(workspace, "x", agent="parked")

    def add(number: int) -> None:
        count = ToolCall.objects.filter(run=run).count()
        ToolCall.objects.create(run_id=run, call_id=f"1.{count}", tool="calculate", arguments="{}")

    return Listed(f"/runs/{run}/calls", "calls", "call_id", add)


def runs(workspace: Workspace) -> Listed:
    agent_of(workspace, "parked")
    return Listed("/runs", "runs", "id", lambda _: start_run(workspace, "x", agent="parked"))


def conversations(workspace: Workspace) -> Listed:
    def add(number: int) -> None:
        start_conversation(workspace, agent="writer")

    return Listed("/conversations", "conversations", "id", add)


def messages(workspace: Workspace) -> Listed:
    agent_of(workspace, "parked")
    return Listed("/messages", "messages", "id", lambda _: MAKERS["message_id"](workspace))


def members(workspace: Workspace) -> Listed:
    return Listed("/members", "members", "username", lambda _: member(workspace))


def keys(workspace: Workspace) -> Listed:
    return Listed("/keys", "keys", "prefix", lambda _: key_for(workspace))


def webhooks(workspace: Workspace) -> Listed:
    return Listed("/webhooks", "webhooks", "id", lambda _: MAKERS["webhook_id"](workspace))


def deliveries(workspace: Workspace) -> Listed:
    webhook = MAKERS["webhook_id"](workspace)

    def add(number: int) -> None:
        MAKERS["delivery_id"](workspace)

    return Listed(f"/webhooks/{webhook}/deliveries", "deliveries", "id", add)


def results(workspace: Workspace) -> Listed:
    return Listed("/deliveries", "deliveries", "id", lambda _: MAKERS["delivery"](workspace))


def channels(workspace: Workspace) -> Listed:
    agent_of(workspace, "parked")
    return Listed("/channels", "channels", "id", lambda _: MAKERS["channel_id"](workspace))


def inbound(workspace: Workspace) -> Listed:
    agent_of(workspace, "parked")
    channel = MAKERS["channel_id"](workspace)

    def add(number: int) -> None:
        InboundMessage.objects.create(channel_id=channel, external_id=number, status="accepted")

    return Listed(f"/channels/{channel}/messages", "messages", "id", add)


def schedules(workspace: Workspace) -> Listed:
    """Those that come meanwhile are before, between and after the others."""
    agent = agent_of(workspace, "parked")

    def add(number: int) -> None:
        name = f"{'hmrw'[number % 4]}{number}"
        row = Schedule(workspace=workspace, agent=agent, name=name, task="x", cron="0 0 1 1 *")
        save_schedule(row, by=SYSTEM)

    return Listed("/schedules", "schedules", "name", add)


def firings(workspace: Workspace) -> Listed:
    agent_of(workspace, "parked")
    row = Schedule.objects.get(workspace=workspace, name=MAKERS["schedule"](workspace))

    def add(number: int) -> None:
        slot = datetime(2025, 1, 1, number, microsecond=number, tzinfo=UTC)
        record_firing(row, slot, FiringStatus.SKIPPED, "x")

    return Listed(f"/schedules/{row.pk}/firings", "firings", "scheduled_for", add)


def audit(workspace: Workspace) -> Listed:
    def add(number: int) -> None:
        create_api_key(workspace, f"key {number}", scopes=["runs:read"])

    return Listed("/audit", "entries", "number", add)


def tools(workspace: Workspace) -> Listed:
    """An installation has them from its start."""
    return Listed("/tools", "tools", "name", lambda _: None)


LISTS = (
    *(approvals, doubts, agents, versions, turns, calls, runs, conversations, messages),
    *(members, keys, webhooks, deliveries, results, channels, inbound),
    *(schedules, firings, audit, tools),
)


def walk(get: Callable[..., httpx.Response], listed: Listed) -> list[Any]:
    """The names of all rows in pages of two; a row is added after each page."""
    found: list[Any] = []
    cursor = None
    for number in range(ROWS, 100):
        query = {"limit": 2} | ({} if cursor is None else {"cursor": cursor})
        page = get(listed.path, **query).json()
        rows, cursor = page[listed.rows], page["next_cursor"]
        assert len(rows) == 2 or cursor is None
        found += [row[listed.names] for row in rows]
        if cursor is None:
            return found
        listed.add(number)
    raise AssertionError("the list has no end")


@pytest.mark.parametrize("make", LISTS, ids=lambda make: make.__name__)
def test_given_rows_that_come_meanwhile_then_each_of_the_others_is_listed_once_in_order(
    caller: Caller, workspace: Workspace, make: Callable[[Workspace], Listed]
) -> None:
    listed = make(workspace)
    for number in range(ROWS):
        listed.add(number)
    page = caller.get(listed.path, limit=200).json()
    there = [row[listed.names] for row in page[listed.rows]]
    assert len(there) == len(set(there)) >= ROWS
    assert page["next_cursor"] is None
    found = walk(caller.get, listed)
    assert len(found) == len(set(found))
    assert [one for one in found if one in there] == there


@pytest.mark.parametrize("make", LISTS, ids=lambda make: make.__name__)
def test_given_more_rows_than_a_page_then_the_command_line_gathers_them_all(
    caller: Caller,
    web: WebServer,
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Workspace], Listed],
) -> None:
    monkeypatch.setattr("heartbit_site.cli.backend.protocol.PAGE", 2)
    listed = make(workspace)
    for number in range(ROWS):
        listed.add(number)
    there = caller.get(listed.path, limit=200).json()
    del there["next_cursor"]
    operation, given = operation_at(listed.path)
    view = ServerBackend(Server(web.url, caller.key)).every(operation, **given)
    found = view.model_dump(mode="json", exclude={"next_cursor"})
    assert [row[listed.names] for row in found[listed.rows]] == [
        row[listed.names] for row in there[listed.rows]
    ]
    assert set(found) == set(there)


def operation_at(path: str) -> tuple[Operation[Any], dict[str, str]]:
    """The list at an address, and the parameters that the address holds."""
    for name in (module.name for module in pkgutil.iter_modules(contract.__path__)):
        for operation in operations_of(importlib.import_module(f"{contract.__name__}.{name}")):
            pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", operation.path)
            found = re.fullmatch(pattern, path)
            if operation.method == "GET" and found is not None:
                return operation, found.groupdict()
    raise LookupError(path)


def test_given_a_person_of_many_workspaces_then_each_is_listed_once_by_short_name(
    web: WebServer, workspace: Workspace
) -> None:
    user = member(workspace)

    def add(number: int) -> None:
        slug = f"{'am'[number % 2]}-{workspace.slug}-{number}"
        there = Workspace.objects.create(slug=slug, name=f"N{-number}")
        Membership.objects.create(workspace=there, user=user)

    for number in range(ROWS):
        add(number)
    cookies = {settings.SESSION_COOKIE_NAME: session_of(user)}
    with httpx.Client(base_url=f"{web.url}/api/v1", cookies=cookies) as http:

        def get(path: str, **query: Any) -> httpx.Response:
            return http.get(path, params=query)

        there = [row["slug"] for row in get("/workspaces").json()["workspaces"]]
        assert there == sorted(there)
        found = walk(get, Listed("/workspaces", "workspaces", "slug", add))
    assert len(found) == len(set(found))
    assert [one for one in found if one in there] == there


def test_given_a_key_then_its_workspace_is_the_only_page(
    caller: Caller, workspace: Workspace
) -> None:
    page = caller.get("/workspaces").json()
    assert ([row["slug"] for row in page["workspaces"]], page["next_cursor"]) == (
        [workspace.slug],
        None,
    )
    assert caller.get("/workspaces", cursor=workspace.slug).json()["workspaces"] == []


def test_given_a_workspace_without_agents_then_the_list_is_empty(
    caller: Caller, workspace: Workspace
) -> None:
    Agent.objects.filter(workspace=workspace).update(current_version=None)
    assert caller.get("/agents").json() == {"agents": [], "next_cursor": None}


@pytest.mark.parametrize("cursor", ["x", "-1", "1.0", "٣", "9" * 30, ""])
@pytest.mark.parametrize("path", ["/approvals", "/uncertain-calls", "/members", "/audit"])
def test_given_what_is_no_cursor_then_it_is_refused(caller: Caller, path: str, cursor: str) -> None:
    refused = caller.get(path, cursor=cursor)
    assert (refused.status_code, refused.json()["code"]) == (422, "cursor")


def test_given_no_cursor_of_turns_or_a_page_of_none_then_it_is_refused(
    caller: Caller, workspace: Workspace
) -> None:
    listed = turns(workspace)
    assert caller.get(listed.path, cursor="x").json()["code"] == "cursor"
    assert caller.get(listed.path, limit=0).status_code == 422
    assert caller.get("/agents", limit=1001).status_code == 422


@pytest.mark.parametrize("cursor", ["x", "17", "2025-01-01", "2025-01-01T00:00:00", ""])
def test_given_no_time_where_a_list_is_by_time_then_it_is_refused(
    caller: Caller, workspace: Workspace, cursor: str
) -> None:
    refused = caller.get(firings(workspace).path, cursor=cursor)
    assert (refused.status_code, refused.json()["code"]) == (422, "cursor")
