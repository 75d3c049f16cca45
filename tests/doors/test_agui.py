"""AG-UI: an agent behind a front end, through approvals, questions, and tools of the page."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx
import pytest

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Decision, Run, ToolBinding, ToolCall
from heartbit_site.base.models import Workspace
from tests.api.server import WebServer, key_for
from tests.doors.agui_client import (
    FrontEnd,
    answer,
    heartbit_run,
    interrupts,
    of_type,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.api.server import Caller
    from tests.fleet import Worker

    Open = Callable[..., FrontEnd]

SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
QUESTION = '[[calls: ask_human {"question": "Which colour?"}]] [[text: Thank you.]]'
LOOK = '[[calls: get-weather {"city": "Oslo"}]] [[text: Mild.]]'
WEATHER = {
    "name": "get-weather",
    "description": "Return the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture
def front_end(web: WebServer, worker: Worker, workspace: Workspace) -> Open:
    """Open a thread of an agent in a workspace of the test's own."""
    key = key_for(workspace)

    def opened(agent: str = "writer", thread: str = "t1", *, key: str = key) -> FrontEnd:
        return FrontEnd(web.url, key, agent, thread)

    return opened


@pytest.fixture
def asks(workspace: Workspace) -> None:
    """Calls of the analyst's calculator wait for a person; the writer may ask people."""
    analyst = Agent.objects.get(workspace=workspace, name="analyst")
    ToolBinding.objects.filter(agent=analyst, tool="calculate").update(approval="always")
    publish_agent(analyst)
    writer = Agent.objects.get(workspace=workspace, name="writer")
    ToolBinding.objects.get_or_create(agent=writer, tool="ask_human")
    publish_agent(writer)


def test_text_is_streamed_in_messages_of_turns(front_end: Open) -> None:
    events = front_end().say("[[text: one two three]] [[stream: 200]]", "r1")
    kinds = [one["type"] for one in events]
    assert kinds[:3] == ["RUN_STARTED", "STEP_STARTED", "TEXT_MESSAGE_START"]
    assert kinds[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]
    assert text_of(events) == "one two three"
    end = events[-1]
    assert (end["outcome"], end["result"]) == ({"type": "success"}, "one two three")
    assert end["usage"][0]["totalTokens"] > 0


def test_calls_are_told_with_their_results(front_end: Open) -> None:
    events = front_end("analyst").say(SUM, "r1")
    [begun], [made] = of_type(events, "TOOL_CALL_START"), of_type(events, "TOOL_CALL_ARGS")
    assert begun["toolCallName"] == "calculate"
    assert json.loads(made["delta"]) == {"expression": "6*7"}
    [result] = of_type(events, "TOOL_CALL_RESULT")
    assert (result["toolCallId"], result["content"]) == (begun["toolCallId"], "42")
    steps = [one["stepName"] for one in of_type(events, "STEP_FINISHED")]
    assert steps == ["turn 1", "turn 2"]


def test_a_thread_is_a_conversation(front_end: Open, caller: Caller) -> None:
    page = front_end()
    first = page.say("My name is Ann. [[text: Hello.]]", "r1")
    page.messages.append({"id": "a1", "role": "assistant", "content": "Hello."})
    second = page.say("What is my name? [[text: Ann.]]", "r2")
    runs = Run.objects.filter(pk__in=[heartbit_run(first), heartbit_run(second)])
    assert len({run.conversation_id for run in runs}) == 1
    turn = caller.http.get(f"/runs/{heartbit_run(second)}/turns/1").json()["request"]
    assert [one["text"] for one in turn["messages"]] == [
        "My name is Ann. [[text: Hello.]]",
        "Hello.",
        "What is my name? [[text: Ann.]]",
    ]


def test_a_repeated_request_gets_the_run_of_the_first(front_end: Open) -> None:
    first = front_end().say("[[text: Once.]]", "r1")
    again = front_end().say("[[text: Once.]]", "r1")
    assert (heartbit_run(again), text_of(again)) == (heartbit_run(first), "Once.")
    other = front_end().say("[[text: Other.]]", "r1")
    assert other[-1]["code"] == "idempotency_mismatch"


def test_a_history_from_elsewhere_comes_with_the_request(front_end: Open, caller: Caller) -> None:
    page = front_end()
    page.messages = [
        {"id": "1", "role": "user", "content": "My name is Ann."},
        {"id": "2", "role": "reasoning", "content": "A name."},
        {"id": "3", "role": "assistant", "content": "Hello."},
    ]
    context = [{"description": "Page", "value": "Settings"}]
    events = page.say("[[text: Ann.]]", "r1", context=context)
    turn = caller.http.get(f"/runs/{heartbit_run(events)}/turns/1").json()["request"]
    assert [one["text"] for one in turn["messages"]] == [
        "My name is Ann.",
        "Hello.",
        "Page: Settings\n\n[[text: Ann.]]",
    ]


@pytest.mark.usefixtures("asks")
class TestApprovals:
    def test_an_approval_is_an_interrupt_and_its_answer_continues_the_run(
        self, front_end: Open
    ) -> None:
        page = front_end("analyst")
        first = page.say(SUM, "r1")
        [asked] = interrupts(first)
        [begun] = of_type(first, "TOOL_CALL_START")
        assert (asked["reason"], asked["toolCallId"]) == ("tool_call", begun["toolCallId"])
        run = Run.objects.get(pk=heartbit_run(first))
        assert (run.status, run.worker_id) == ("waiting", None)
        given = answer(asked, {"approved": True})
        streams = [
            page.send("r2", resume=given) for _ in range(2)
        ]  # a repeated one repeats nothing
        for events in streams:
            assert heartbit_run(events) == str(run.pk)
            [result] = of_type(events, "TOOL_CALL_RESULT")
            assert (result["toolCallId"], result["content"]) == (begun["toolCallId"], "42")
            assert of_type(events, "TOOL_CALL_START") == []
            assert (text_of(events), events[-1]["outcome"]["type"]) == ("Done.", "success")
        assert Decision.objects.filter(run=run).count() == 1
        assert ToolCall.objects.filter(run=run).count() == 1

    def test_a_refusal_and_other_arguments(self, front_end: Open) -> None:
        page = front_end("analyst", "refused")
        [asked] = interrupts(page.say(SUM, "r1"))
        given = answer(asked, {"approved": False, "reason": "Not now."})
        events = page.send("r2", resume=given)
        assert "Not now." in of_type(events, "TOOL_CALL_RESULT")[0]["content"]
        page = front_end("analyst", "edited")
        [asked] = interrupts(page.say(SUM, "r1"))
        given = answer(asked, {"approved": True, "editedArgs": {"expression": "1+1"}})
        events = page.send("r2", resume=given)
        assert of_type(events, "TOOL_CALL_RESULT")[0]["content"] == "2"

    def test_who_decides_elsewhere_wins(self, front_end: Open, caller: Caller) -> None:
        page = front_end("analyst")
        [asked] = interrupts(page.say(SUM, "r1"))
        [call] = caller.get("/approvals").json()["calls"]
        place = f"/runs/{call['run_id']}/calls/{call['call_id']}/decision"
        caller.post(place, {"digest": call["digest"], "verdict": "approve"})
        events = page.send("r2", resume=answer(asked, {"approved": False}))
        [said] = of_type(events, "CUSTOM")
        assert said["name"] == "heartbit.answer_not_taken"
        assert said["value"]["interruptId"] == asked["id"]
        assert of_type(events, "TOOL_CALL_RESULT")[0]["content"] == "42"

    def test_answers_that_are_none(self, front_end: Open, workspace: Workspace) -> None:
        page = front_end("analyst")
        [asked] = interrupts(page.say(SUM, "r1"))
        for given, sentence in (
            (answer(asked, {"approved": "yes"}), "does not fit"),
            (answer(asked, {"approved": True, "editedArgs": {"x": 1}}), "x"),
            (answer({"id": "nothing"}, {}), "not those to interrupts"),
        ):
            events = page.send("r2", resume=given)
            assert events[-1]["type"] == "RUN_ERROR"
            assert sentence in events[-1]["message"]
        events = page.send("r2", resume=answer({"id": asked["id"] + "0"}, {"approved": True}))
        [said] = of_type(events, "CUSTOM")
        assert (said["name"], "no longer" in said["value"]["message"]) == (
            "heartbit.answer_not_taken",
            True,
        )
        assert interrupts(events) == [asked]  # it waits as before
        there = Workspace.objects.create(slug=f"{workspace.slug}-o", name="o")
        stranger = front_end("analyst", key=key_for(there))
        events = stranger.send("r2", resume=answer(asked, {"approved": True}))
        assert "not those to interrupts" in events[-1]["message"]
        other = front_end("analyst", "another thread")
        events = other.send("r2", resume=answer(asked, {"approved": True}))
        assert "in this thread" in events[-1]["message"]
        assert page.say("Hello?", "r3")[-1]["code"] == "conversation_busy"
        assert not Decision.objects.filter(run__workspace=workspace).exists()

    def test_a_key_without_the_right_decides_nothing(
        self, front_end: Open, workspace: Workspace
    ) -> None:
        weak = key_for(workspace, scopes=("runs:read", "runs:write"))
        page = front_end("analyst", key=weak)
        [asked] = interrupts(page.say(SUM, "r1"))
        events = page.send("r2", resume=answer(asked, {"approved": True}))
        assert events[-1]["code"] == "forbidden"
        assert not Decision.objects.filter(run__workspace=workspace).exists()


@pytest.mark.usefixtures("asks")
def test_a_question_is_an_interrupt_with_a_form(front_end: Open) -> None:
    page = front_end()
    [asked] = interrupts(page.say(QUESTION, "r1"))
    assert (asked["reason"], asked["message"]) == ("input_required", "Which colour?")
    assert asked["responseSchema"]["type"] == "string"
    events = page.send("r2", resume=answer(asked, "green"))
    assert "green" in of_type(events, "TOOL_CALL_RESULT")[0]["content"]
    assert text_of(events) == "Thank you."


def test_a_tool_of_the_page_is_called_and_returned(front_end: Open) -> None:
    page = front_end()
    tools = [WEATHER]
    first = page.say(LOOK, "r1", tools=tools)
    [begun], end = of_type(first, "TOOL_CALL_START"), first[-1]
    call_id = begun["toolCallId"]
    assert end["outcome"] == {"type": "success", "pendingToolCallIds": [call_id]}
    function = {"name": "get-weather", "arguments": '{"city": "Oslo"}'}
    page.messages += [
        {
            "id": "a1",
            "role": "assistant",
            "toolCalls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"id": "t1", "role": "tool", "toolCallId": call_id, "content": "20 C"},
    ]
    for _ in range(2):  # a repeated request changes nothing
        events = page.send("r2", tools=tools)
        assert heartbit_run(events) == heartbit_run(first)
        assert of_type(events, "TOOL_CALL_RESULT") == []  # the page has it
        assert (text_of(events), events[-1]["outcome"]) == ("Mild.", {"type": "success"})


def test_the_blackboard_is_the_state(front_end: Open, workspace: Workspace) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    ToolBinding.objects.get_or_create(agent=agent, tool="blackboard_write")
    publish_agent(agent)
    task = (
        '[[calls: blackboard_write {"key": "a/b", "value": "1"}]] '
        '[[calls: blackboard_write {"key": "c", "value": "2"}]] [[text: Done.]]'
    )
    events = front_end().say(task, "r1", state={"page": 3})
    state = {}
    for event in events:
        if event["type"] == "STATE_SNAPSHOT":
            state = dict(event["snapshot"])
        elif event["type"] == "STATE_DELTA":
            for one in event["delta"]:
                state[one["path"][1:].replace("~1", "/")] = one["value"]
    assert state == {"page": 3, "a/b": "1", "c": "2"}


def test_failures_and_unknown_agents_are_errors_of_the_protocol(front_end: Open) -> None:
    assert front_end().say("Fail. [[error: 400]]", "r1")[-1]["type"] == "RUN_ERROR"
    assert front_end("nobody").say("Hello.", "r1")[-1]["code"] == "agent_not_found"
    assert front_end().send("r2")[-1]["message"] == "There is no message to answer."


class TestRequests:
    @pytest.mark.parametrize(
        ("method", "headers", "body", "status"),
        [
            ("GET", {"Authorization": "Bearer {key}"}, None, 405),
            ("POST", {}, {}, 401),
            ("POST", {"Authorization": "Bearer hb_no"}, {}, 401),
            ("POST", {"Authorization": "Bearer {key}"}, {"threadId": 3}, 422),
            ("POST", {"Authorization": "Bearer {key}"}, [], 422),
        ],
    )
    def test_what_is_no_request_is_refused(
        self,
        web: WebServer,
        workspace: Workspace,
        method: str,
        headers: dict[str, str],
        body: Any,
        status: int,
    ) -> None:
        sent = {name: value.format(key=key_for(workspace)) for name, value in headers.items()}
        found = httpx.request(method, f"{web.url}/agui/writer", headers=sent, json=body)
        assert found.status_code == status, found.text
        assert found.json()["detail"]

    def test_pages_of_other_origins_are_allowed_by_name_alone(self) -> None:
        with WebServer(HEARTBIT_AGUI_ORIGINS="https://app.example") as server:
            for origin, allowed in (
                ("https://app.example", "https://app.example"),
                ("https://other.example", None),
            ):
                for method in ("OPTIONS", "POST"):
                    found = httpx.request(
                        method, f"{server.url}/agui/writer", headers={"Origin": origin}
                    )
                    assert found.headers.get("Access-Control-Allow-Origin") == allowed


def test_a_workflow_asks_in_the_middle_of_its_steps(front_end: Open, caller: Caller) -> None:
    steps = {
        "steps": {
            "sum": {"agent": "writer", "task": "[[text: 42]]"},
            "ask": {
                "ask": "Publish {{ steps.sum.output }}?",
                "form": {"type": "boolean"},
                "needs": "sum",
            },
        }
    }
    made = caller.post("/workflows", {"name": "publish", **steps})
    assert made.status_code == 201, made.text
    page = front_end("publish")
    first = page.say("Go.", "r1")
    [asked] = interrupts(first)
    assert (asked["reason"], asked["message"]) == ("input_required", "Publish 42?")
    assert asked["responseSchema"] == {"type": "boolean"}
    last = page.send("r2", resume=answer(asked, payload=True))
    steps_told = [one["stepName"] for one in of_type([*first, *last], "STEP_STARTED")]
    assert steps_told == ["superstep 1", "superstep 2"]
    assert last[-1]["result"] in ({"ask": True}, True, "true"), last[-1]


@pytest.mark.usefixtures("asks")
def test_a_sub_agents_approval_is_an_interrupt_too(front_end: Open) -> None:
    tasks = json.dumps({"tasks": [{"agent": "analyst", "task": SUM}]})
    page = front_end("orchestrator")
    first = page.say(f"[[calls: delegate_task {tasks}]] [[text: All done.]]", "r1")
    [asked] = interrupts(first)
    assert (asked["reason"], "toolCallId" in asked) == ("confirmation", False)
    shown = asked["metadata"]["heartbit"]
    assert (shown["tool"], shown["arguments"]) == ("calculate", {"expression": "6*7"})
    events = page.send("r2", resume=answer(asked, {"approved": True}))
    assert text_of(events) == "All done."
    assert (
        of_type(events, "TOOL_CALL_RESULT")[0]["toolCallId"]
        == of_type(first, "TOOL_CALL_START")[0]["toolCallId"]
    )


@pytest.mark.usefixtures("asks")
def test_the_answer_reaches_a_run_whose_web_process_has_died(
    web: WebServer, front_end: Open, workspace: Workspace
) -> None:
    with WebServer() as first:
        page = FrontEnd(first.url, key_for(workspace), "analyst", "t1")
        [asked] = interrupts(page.say(SUM, "r1"))
        os.kill(first.pid, signal.SIGKILL)
    events = front_end("analyst").send("r2", resume=answer(asked, {"approved": True}))
    assert text_of(events) == "Done."
    assert ToolCall.objects.filter(run=UUID(heartbit_run(events))).count() == 1
