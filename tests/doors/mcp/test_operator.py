"""The operations as tools: an agent operates an installation, as far as its key permits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from jsonschema_rs import meta
from mcp.shared.exceptions import MCPError

from agents.models import Run
from heartbit_site.contract.operation import MEMBER, noun_modules, operations_of
from tests.api.server import key_for
from tests.conftest import new_workspace
from tests.doors.mcp.conftest import Mcp
from tests.doors.mcp.test_tools import text_of

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp_types import CallToolResult

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller


SEES = {"agents:read"}


def operator(mcp: Mcp, key: str = "") -> Mcp:
    return Mcp(f"{mcp.address}/operator", key or mcp.key)


async def tools_of(client: Client) -> Any:
    return {tool.name: tool for tool in (await client.list_tools()).tools}


def test_a_key_that_reads_gets_tools_that_read(mcp: Mcp, workspace: Workspace) -> None:
    every = operator(mcp).run(tools_of)
    assert {"list_runs", "show_run", "retry_run", "decide", "halt_workspace"} <= every.keys()
    for tool in every.values():
        meta.validate(tool.input_schema)
    reading = operator(mcp, key_for(workspace, ["runs:read"])).run(tools_of)
    assert {"list_runs", "show_run"} <= reading.keys() < every.keys()
    assert all(tool.annotations.read_only_hint for tool in reading.values())


def test_why_a_run_failed_and_again(mcp: Mcp, caller: Caller) -> None:
    run = caller.submit("[[error: 400]]", agent="writer")
    caller.ended(run["id"])

    async def use(client: Client) -> list[CallToolResult]:
        return [
            await client.call_tool("list_runs", {"status": "failed"}),
            await client.call_tool("show_run", {"run_id": run["id"]}),
            await client.call_tool("retry_run", {"run_id": run["id"]}),
        ]

    listed, shown, again = operator(mcp).run(use)
    assert [one["id"] for one in listed.structured_content["runs"]] == [run["id"]]
    assert "400" in shown.structured_content["error"]["message"]
    assert Run.objects.get(pk=again.structured_content["id"]).task == "[[error: 400]]"


def test_bodies_and_waits_are_those_of_the_operation(mcp: Mcp) -> None:
    async def use(client: Client) -> CallToolResult:
        body = {"task": "[[text: Done.]]", "agent": "writer"}
        return await client.call_tool("start_run", {"body": body, "wait": 30})

    assert operator(mcp).run(use).structured_content["result"]["text"] == "Done."


WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("show_run", {}, "The parameter run_id is missing."),
    ("show_run", {"run_id": "00000000"}, "no run begins with 00000000"),
    ("list_runs", {"statsu": "failed"}, "There is no parameter statsu"),
    ("start_run", {"body": {"tsak": "x"}}, "There is no field tsak"),
    ("start_run", {"body": {"task": " "}}, "The task is empty"),
)


@pytest.mark.parametrize(("name", "arguments", "said"), WRONG)
def test_what_does_not_fit_is_one_sentence(
    mcp: Mcp, name: str, arguments: dict[str, Any], said: str
) -> None:
    async def use(client: Client) -> CallToolResult:
        return await client.call_tool(name, arguments)

    found = operator(mcp).run(use)
    assert found.is_error
    assert said in text_of(found)


def test_a_key_does_what_its_scopes_permit_in_its_workspace(
    mcp: Mcp, workspace: Workspace, caller: Caller
) -> None:
    run = caller.submit("[[text: Done.]]", agent="writer")

    async def use(client: Client) -> list[str]:
        names = ("retry_run", "show_run")
        return [text_of(await client.call_tool(name, {"run_id": run["id"]})) for name in names]

    retried, _ = operator(mcp, key_for(workspace, ["runs:read"])).run(use)
    assert "runs:write" in retried
    for said in operator(mcp, key_for(new_workspace())).run(use):
        assert "no run begins with" in said

    async def unknown(client: Client) -> None:
        with pytest.raises(MCPError, match="There is no tool"):
            await client.call_tool("drop_database", {})

    operator(mcp).run(unknown)


def test_no_operation_is_done_for_a_key_without_its_scope(mcp: Mcp, workspace: Workspace) -> None:
    found = [one for module in noun_modules() for one in operations_of(module)]
    every = {one.name: one.needs for one in found if one.method == "GET" or one.needs != MEMBER}
    reading = operator(mcp, key_for(workspace, SEES))

    async def use(client: Client) -> dict[str, str]:
        return {name: text_of(await client.call_tool(name, {})) for name in every}

    said = reading.run(use)
    allowed = reading.run(tools_of).keys()
    assert allowed == {name for name, needs in every.items() if set(needs.scopes) <= SEES}
    for name in every.keys() - allowed:
        assert any(scope in said[name] for scope in every[name].scopes), (name, said[name])
