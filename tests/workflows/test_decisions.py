"""People decide the calls of a workflow's tools, as those of an agent."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from agents.actions.decide_call import answer_call, deny_call, edit_call
from agents.actions.send_message import send_message
from agents.choices import RunStatus
from agents.live.follow import wait_for_end
from agents.messaging.addresses import sender_of_person
from agents.querysets import calls_waiting
from agents.reads.agents import definition_of
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from tests.workflows.test_engine import publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from agents.models import Run, ToolCall
    from tests.runtime.conftest import Studio


async def waiting_call(studio: Studio, run_id: UUID) -> ToolCall:
    """Return the call of a run that waits for approval, once it does."""
    found: list[ToolCall] = []
    while not found:
        found = await orm.run_in_thread(
            lambda: list(calls_waiting(studio.workspace).filter(run=run_id))
        )
        await asyncio.sleep(0.02)
    return found[0]


async def decided(
    studio: Studio, step: dict[str, Any], tool: dict[str, Any], decide: Callable[[ToolCall], None]
) -> Run:
    """Run a workflow with one tool, whose call a person decides."""

    def make() -> None:
        publish(studio.workspace, name="one", tools=[tool], steps={"a": step})

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="one", model="")
    call = await waiting_call(studio, run_id)
    await orm.run_in_thread(lambda: decide(call))
    return await wait_for_end(run_id, studio.host.window)


CALCULATE = {"name": "calculate", "approval": "always"}
STEP = {"tool": "calculate", "arguments": {"expression": "6*7"}}


async def test_a_call_runs_with_the_arguments_that_a_person_gave(studio: Studio) -> None:
    def edit(call: ToolCall) -> None:
        edit_call(call, digest=call.digest, by=SYSTEM, arguments='{"expression": "6*8"}')

    run = await decided(studio, STEP, CALCULATE, edit)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "48"), run.error


async def test_a_call_that_is_denied_is_an_error_of_its_node(studio: Studio) -> None:
    def deny(call: ToolCall) -> None:
        deny_call(call, digest=call.digest, by=SYSTEM, reason="Not today.")

    run = await decided(studio, STEP, CALCULATE, deny)
    assert run.status == RunStatus.FAILED
    assert "Not today." in str(run.error)


async def test_a_question_of_a_tool_is_answered(studio: Studio) -> None:
    def answer(call: ToolCall) -> None:
        answer_call(call, digest=call.digest, by=SYSTEM, answer="blue")

    step = {"tool": "ask_human", "arguments": {"question": "Which colour?"}}
    run = await decided(studio, step, {"name": "ask_human"}, answer)
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert "blue" in json.dumps(run.structured or run.output)


async def test_a_version_of_a_workflow_defines_its_tools(studio: Studio) -> None:
    def make() -> None:
        publish(studio.workspace, name="one", tools=[CALCULATE], steps={"a": {"set": {}}})

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="one", model="")
    found = await orm.run_in_thread(lambda: definition_of(run.version))
    assert [(tool.name, tool.approval) for tool in found.tools] == [("calculate", "always")]
    assert found.mixed_data == "ask"


async def test_nodes_read_messages_and_artifacts(studio: Studio) -> None:
    def make() -> None:
        missing = {"tool": "read_artifact", "arguments": {"artifact": "none"}}
        steps = {
            "messages": {"tool": "read_messages", "arguments": {}},
            "artifact": missing | {"on_error": "continue"},
        }
        tools = [{"name": "read_messages"}, {"name": "read_artifact"}]
        output = "{{ [steps.messages.output, steps.artifact.error.message] }}"
        publish(studio.workspace, name="reads", steps=steps, tools=tools, output=output)
        send_message(sender_of_person(studio.workspace, SYSTEM), "reads", "Begin.")

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="reads", model="")
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert isinstance(run.structured, list)
    inbox, refused = run.structured
    assert inbox["messages"][0]["text"] == "Begin."
    assert "This run has stored no artifact 'none'" in refused
