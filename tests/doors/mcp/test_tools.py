"""Agents and workflows as tools: listed, called, cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError

from agents.models import Agent, Run
from heartbit_site.base import orm
from tests.api.test_workflows import STEPS
from tests.fleet import wait_until

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp_types import CallToolResult

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.doors.mcp.conftest import Mcp

ERAS = ("2026-07-28", "legacy")
TYPED: dict[str, Any] = {
    "name": "times",
    "description": "Multiplies by 7.",
    "input": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "steps": {"sum": STEPS["steps"]["sum"]},
}


def text_of(result: CallToolResult) -> str:
    return "".join(one.text for one in result.content if one.type == "text")


@pytest.mark.parametrize("era", ERAS)
def test_agents_and_workflows_are_tools(mcp: Mcp, caller: Caller, era: str) -> None:
    assert caller.post("/workflows", TYPED).status_code == 201

    async def use(client: Client) -> Any:
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = mcp.run(use, mode=era)
    assert tools["writer"].input_schema["required"] == ["task"]
    assert tools["times"].description == "Multiplies by 7."
    assert tools["times"].input_schema["properties"] == {"n": {"type": "integer"}}


@pytest.mark.parametrize("era", ERAS)
def test_a_call_is_a_run_and_its_answer_the_result(
    mcp: Mcp, workspace: Workspace, era: str
) -> None:
    async def use(client: Client) -> CallToolResult:
        return await client.call_tool("writer", {"task": "[[text: Done.]]"})

    found = mcp.run(use, mode=era)
    assert (text_of(found), found.is_error) == ("Done.", False)
    run = Run.objects.get(workspace=workspace)
    assert (run.agent, run.status) == ("writer", "succeeded")
    assert (found.meta or {})["heartbit/run"] == str(run.pk)


def test_a_workflow_takes_its_input_and_wrong_input_is_told(mcp: Mcp, caller: Caller) -> None:
    caller.post("/workflows", TYPED)

    async def use(client: Client) -> list[CallToolResult]:
        return [await client.call_tool("times", {"n": n}) for n in (6, "six")]

    right, wrong = mcp.run(use)
    assert text_of(right) == "42"
    assert wrong.is_error
    assert "The arguments do not fit: n" in text_of(wrong)


def test_structured_answers_have_their_schema(mcp: Mcp, caller: Caller) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    changed = caller.http.patch("/agents/writer", json={"response_schema": schema})
    assert changed.status_code == 200, changed.text

    async def use(client: Client) -> tuple[Any, CallToolResult]:
        tools = (await client.list_tools()).tools
        called = await client.call_tool("writer", {"task": '[[text: {"n": 42}]]'})
        return next(one for one in tools if one.name == "writer").output_schema, called

    declared, found = mcp.run(use)
    assert declared == schema
    assert found.structured_content == {"n": 42}


def test_a_failed_run_is_an_error_with_its_sentence(mcp: Mcp) -> None:
    async def use(client: Client) -> CallToolResult:
        return await client.call_tool("writer", {"task": "[[error: 400]]"})

    found = mcp.run(use)
    assert found.is_error
    assert "400" in text_of(found)


@pytest.mark.parametrize("era", ERAS)
def test_progress_tells_what_the_run_does(mcp: Mcp, era: str) -> None:
    heard: list[tuple[float, str]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message or ""))

    async def use(client: Client) -> CallToolResult:
        task = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
        return await client.call_tool("analyst", {"task": task}, progress_callback=hear)

    assert text_of(mcp.run(use, mode=era)) == "Done."
    assert [number for number, _ in heard] == sorted(number for number, _ in heard)
    assert any("calculate" in message for _, message in heard), heard


def test_the_same_key_starts_one_run(mcp: Mcp, workspace: Workspace) -> None:
    async def use(client: Client) -> None:
        for _ in range(2):
            meta: Any = {"heartbit/idempotencyKey": "order-17"}
            await client.call_tool("writer", {"task": "[[text: Done.]]"}, meta=meta)

    mcp.run(use)
    assert Run.objects.filter(workspace=workspace).count() == 1


def test_a_client_that_cancels_cancels_the_run(mcp: Mcp, workspace: Workspace) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")

    async def use(client: Client) -> None:
        calling = asyncio.create_task(client.call_tool("writer", {"task": "Wait."}))
        runs = Run.objects.filter(workspace=workspace)
        await orm.run_in_thread(lambda: wait_until(runs.exists, what="it is accepted"))
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    mcp.run(use)
    run = Run.objects.get(workspace=workspace)
    wait_until(lambda: Run.objects.get(pk=run.pk).status == "cancelled", what="it is cancelled")


def test_what_is_no_tool_is_one_sentence(mcp: Mcp) -> None:
    async def use(client: Client) -> None:
        with pytest.raises(MCPError, match="There is no tool 'nobody'"):
            await client.call_tool("nobody", {"task": "x"})

    mcp.run(use)
