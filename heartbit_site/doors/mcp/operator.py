"""The server at ``/mcp/operator``: the operations of the contract as tools.

A key sees those that its scopes permit: one that only reads gets tools that only read.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from heartbit_site.api.auth import check_needs
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.errors import ForbiddenError, HeartbitError
from heartbit_site.contract.operation import (
    MEMBER,
    Answered,
    Operation,
    PendingAnswer,
    noun_modules,
    operations_of,
)
from heartbit_site.contract.problem import fault
from heartbit_site.doors.mcp.answering import Context, answer_with, caller_of, new_server
from heartbit_site.doors.mcp.http import Caller
from heartbit_site.doors.mcp.results import refused
from heartbit_site.doors.mcp.tools import ArgumentsError
from heartbit_site.operations import function_of

INSTRUCTIONS: Final = (
    "Operate an installation of Heartbit: find runs and why they failed, retry, pause, resume, "
    "decide. Every tool is an operation of its REST API."
)
#: A row's number is a text in an address.
_PARAMETERS: Final = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


@cache
def make_server(caller: Caller | None = None) -> Server[Any]:
    """Return a server; for ``caller`` see ``new_server``."""
    return new_server(
        "heartbit-operator",
        caller,
        title="Heartbit, for operators",
        instructions=INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer one request over HTTP."""
    await answer_with(make_server(), scope, receive, send)


@cache
def _operations() -> Mapping[str, Operation[Any]]:
    """Return the operations of an installation by their names, which are unique.

    What every member does for themselves alone, as making keys, is not for programs.
    """
    every = [one for module in noun_modules() for one in operations_of(module)]
    return {one.name: one for one in every if one.method == "GET" or one.needs != MEMBER}


@cache
def _parameters(operation: Operation[Any]) -> type[BaseModel]:
    """Return the model of an operation's parameters: those of its function, but for the caller."""
    declared = inspect.signature(function_of(operation), eval_str=True).parameters
    fields: Any = {
        name: (each.annotation, ... if each.default is each.empty else each.default)
        for name, each in list(declared.items())[1:]
    }
    return create_model(operation.name, __config__=_PARAMETERS, **fields)


@cache
def _tool(operation: Operation[Any]) -> Tool:
    explained = inspect.getdoc(function_of(operation)) or ""
    return Tool(
        name=operation.name,
        title=operation.summary,
        description=f"{operation.summary}. {explained}".strip(),
        input_schema={"properties": {}, **_parameters(operation).model_json_schema()},
        annotations=ToolAnnotations(
            read_only_hint=_reads(operation),
            destructive_hint=operation.method == "DELETE",
            open_world_hint=False,
        ),
    )


def _reads(operation: Operation[Any]) -> bool:
    """Return True if an operation changes nothing: some searches have a body."""
    scopes = operation.needs.scopes
    return operation.method == "GET" or all(scope.endswith(":read") for scope in scopes)


def _tools_of(access: Access) -> list[Tool]:
    found = []
    for operation in _operations().values():
        try:
            check_needs(access, operation.needs)
        except ForbiddenError:
            continue
        found.append(_tool(operation))
    return found


async def _list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    access = caller_of(ctx).access
    return ListToolsResult(tools=await orm.run_in_thread(lambda: _tools_of(access)))


async def _call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult:
    access, operation = caller_of(ctx).access, _operations().get(params.name)
    if operation is None:
        raise MCPError(INVALID_PARAMS, f"There is no tool {params.name[:80]!r}.")

    def carry_out() -> Any:
        check_needs(access, operation.needs)
        return function_of(operation)(access, **_values(operation, params.arguments or {}))

    try:
        found = await orm.run_in_thread(carry_out)
        if isinstance(found, PendingAnswer):
            found = await found.wait()
    except HeartbitError as error:
        remedy = error.remedy.operation.partition(".")[2] if error.remedy else ""
        return refused(error.sentence(remedy))
    return _result(found.view if isinstance(found, Answered) else found)


def _values(operation: Operation[Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as those of an operation's function; those left out have its defaults.

    Raises:
        ArgumentsError: They do not fit.
    """
    try:
        read = _parameters(operation).model_validate(arguments)
    except ValidationError as error:
        problems: list[Any] = error.errors(include_url=False)
        for one in problems:
            is_in_body = one["loc"][:1] == ("body",) and len(one["loc"]) > 1
            one["loc"] = ("body" if is_in_body else "query", *one["loc"])
        raise ArgumentsError(fault(problems)) from None
    return {name: getattr(read, name) for name in read.model_fields_set}


def _result(view: BaseModel | None) -> CallToolResult:
    data = {} if view is None else view.model_dump(mode="json")
    text = json.dumps(data, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)
