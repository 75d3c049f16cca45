"""The tasks extension (SEP-2663) for the SDK's client, which brings none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

from mcp.client.extension import ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result
from pydantic import ConfigDict

from tests.pace import Patience

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.client import Client


class Created(Result):
    """A call that became a task."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class Answer(Result):
    """The result of any request about a task."""

    model_config = ConfigDict(extra="allow")


class Params(RequestParams):
    model_config = ConfigDict(extra="allow")
    task_id: str


class About(Request[Params, str]):
    name_param = "taskId"


async def _unused(created: Created, context: Any) -> CallToolResult:
    raise AssertionError("the tests ask about tasks themselves")


class Tasks(ClientExtension):
    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=_unused)]


async def begin(client: Client, name: str, task: str) -> Created:
    found = await client.session.call_tool(name, {"task": task}, allow_claimed=True)
    assert isinstance(found, Created)
    return found


async def ask(client: Client, method: str, task_id: str, **more: Any) -> dict[str, Any]:
    params = Params(task_id=task_id, **more)
    answer = await client.session.send_request(About(method=method, params=params), Answer)
    return answer.model_dump(by_alias=True, exclude={"meta"})


async def until(client: Client, task_id: str, *statuses: str) -> dict[str, Any]:
    """The task, once it has one of these statuses."""
    patience = Patience(30)
    while patience:
        found = await ask(client, "tasks/get", task_id)
        if found["status"] in statuses:
            return found
        assert found["status"] in ("working", "input_required"), found
        await asyncio.sleep(0.05)  # as a client does that polls
    raise AssertionError(found)
