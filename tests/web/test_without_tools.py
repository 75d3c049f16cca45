"""A web process without any tool's code: what people do with tools works there from the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, AgentVersion, Decision, ToolBinding
from tests.api.server import Caller, WebServer, key_for
from tests.web.asked import address, asked_of, row_of
from tests.web.people import person, session_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer

REQUEST = '[[calls: http_request {"url": "https://example.org/", "method": "PUT"}]] [[text: Done.]]'
SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
QUESTION = '[[calls: ask_human {"question": "Which?"}]] [[text: Thank you.]]'
SHARE = '[[calls: blackboard_write {"key": "k", "value": "v"}]] [[text: Done.]]'
TOOLS = ("ask_human", "blackboard_write", "calculate", "http_request")


@pytest.fixture(scope="module")
def bare(database: None, wire_server: WireServer) -> Iterator[WebServer]:
    """The web process, whose registry is empty; its log holds no defect."""
    with WebServer(HEARTBIT_EXTRA_APPS="tests.without_tools") as server:
        yield server
        said = server.log.read_text()
        assert "Traceback" not in said, said[-4_000:]


@pytest.fixture
def caller(bare: WebServer, workspace: Workspace) -> Iterator[Caller]:
    """A program with every scope in the test's workspace."""
    found = Caller(bare, key_for(workspace))
    with found.http:
        yield found


@pytest.fixture
def operator(caller: Caller, bare: WebServer) -> dict[str, str]:
    """The cookies of somebody who may see all pages of the admin."""
    return {"sessionid": session_of(person(operator=True))}


@pytest.fixture
def solo(workspace: Workspace) -> Agent:
    """A published agent that asks before each call; its tools are all in the rows."""
    row = Agent.objects.create(
        workspace=workspace, name="solo", system_prompt="Be brief.", approval="always"
    )
    ToolBinding.objects.bulk_create(ToolBinding(agent=row, tool=tool) for tool in TOOLS)
    publish_agent(row)
    return row


def decide(caller: Caller, asked: dict[str, Any], verdict: str, **more: Any) -> httpx.Response:
    return caller.post(address(asked), {"digest": asked["digest"], "verdict": verdict, **more})


def test_agents_are_made_and_published_with_tools_of_the_catalogue(
    caller: Caller, workspace: Workspace
) -> None:
    listed = {tool["name"]: tool for tool in caller.get("/tools", limit=100).json()["tools"]}
    assert set(TOOLS) <= set(listed)
    assert listed["calculate"]["parameters"]["required"] == ["expression"]
    body = {
        "name": "clerk",
        "description": "Sums.",
        "system_prompt": "Add.",
        "tools": ["calculate"],
    }
    refused = caller.post("/agents", {**body, "tools": ["calculater"]})
    assert refused.status_code == 422
    assert "did you mean calculate?" in refused.json()["detail"]
    made = caller.post("/agents", body)
    assert made.status_code == 201, made.text
    version = AgentVersion.objects.get(agent__workspace=workspace, agent__name="clerk")
    here = publish_agent(version.agent)  # in this process, which has the tools
    assert here == version, "the same hash, whoever publishes"
    status = caller.get("/agents/clerk/status").json()
    assert status["tools"]["loaded"] == ["calculate"]
    assert (status["tools"]["changed"], status["tools"]["unknown"]) == ([], [])
    scheduled = caller.post(
        "/schedules",
        {
            "name": "Sums",
            "agent": "clerk",
            "every_seconds": 3600,
            "task_type": "tool_call",
            "tool": "calculate",
            "arguments": {"expression": "1+1"},
        },
    )
    assert scheduled.status_code == 201, scheduled.text


@pytest.mark.usefixtures("solo", "worker")
class TestCalls:
    def test_a_call_is_shown_edited_and_run_as_edited(self, caller: Caller) -> None:
        asked = asked_of(caller, SUM)
        assert asked["parameters"]["required"] == ["expression"]
        wrong = decide(caller, asked, "edit", arguments={"expresion": "6*8"})
        assert wrong.status_code == 422
        assert "expression" in wrong.json()["detail"]
        assert decide(caller, asked, "edit", arguments={"expression": "6*8"}).status_code == 200
        caller.ended(asked["run_id"])
        assert row_of(asked).result == "48"

    def test_arguments_are_in_the_order_of_the_schema(self, caller: Caller) -> None:
        asked = asked_of(caller, REQUEST)
        assert list(asked["arguments"])[:2] == ["method", "url"]
        assert decide(caller, asked, "deny", reason="No.").status_code == 200

    def test_a_question_is_known_as_one_and_answered(self, caller: Caller) -> None:
        asked = asked_of(caller, QUESTION)
        assert asked["answer_schema"] is not None
        assert decide(caller, asked, "approve").status_code == 422
        assert decide(caller, asked, "answer", answer="The red one.").status_code == 200
        caller.ended(asked["run_id"])
        assert "The red one." in (row_of(asked).result or "")

    def test_always_allowing_a_tool_lets_the_next_call_run(self, caller: Caller) -> None:
        asked = asked_of(caller, SUM)
        assert decide(caller, asked, "approve", always={"scope": "agent"}).status_code == 200
        caller.ended(asked["run_id"])
        again = caller.submit(SUM, agent="solo")["id"]
        caller.ended(again)
        assert not Decision.objects.filter(run_id=again).exclude(via="grant").exists()

    def test_only_a_dry_run_needs_the_tool_itself(self, caller: Caller) -> None:
        asked = asked_of(caller, SHARE)
        path = address(asked).replace("/decision", "/dry-run")
        refused = caller.post(path, {"digest": asked["digest"]})
        assert refused.status_code == 422
        assert "is not known here" in refused.json()["detail"]
        assert decide(caller, asked, "deny", reason="No.").status_code == 200

    def test_a_turn_is_shown_as_it_was_sent_and_forked_with_other_arguments(
        self, caller: Caller, workspace: Workspace
    ) -> None:
        asked = asked_of(caller, SUM)
        decide(caller, asked, "approve")
        caller.ended(asked["run_id"])
        turn = caller.get(f"/runs/{asked['run_id']}/turns/1").json()
        assert {tool["name"] for tool in turn["request"]["tools"]} == set(TOOLS)
        assert turn["request"]["changed_tools"] == []
        assert turn["calls"][0]["effect"] == "pure"
        edits = {"turn": 1, "call_id": asked["call_id"]}
        wrong = caller.post(f"/runs/{asked['run_id']}/fork", {**edits, "arguments": {"x": 1}})
        assert wrong.status_code == 422
        made = caller.post(
            f"/runs/{asked['run_id']}/fork", {**edits, "arguments": {"expression": "1+1"}}
        )
        assert made.status_code == 201, made.text

    def test_the_pages_are_shown_with_the_tools_to_choose_from(
        self,
        caller: Caller,
        bare: WebServer,
        workspace: Workspace,
        solo: Agent,
        operator: dict[str, str],
    ) -> None:
        asked = asked_of(caller, SUM)
        run, slug = asked["run_id"], workspace.slug
        pages = {
            f"/w/{slug}/inbox/": "",
            f"/w/{slug}/runs/{run}/": "",
            reverse("admin:agents_agent_change", args=[solo.pk]): "calculate · ",
        }
        caller.http.cookies.update(operator)
        for path, said in pages.items():
            shown = caller.http.get(f"{bare.url}{path}", headers={"Authorization": ""})
            assert shown.status_code == 200, path
            assert said in shown.text, path
        assert decide(caller, asked, "approve").status_code == 200
        caller.ended(run)
