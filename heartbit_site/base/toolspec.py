"""What a tool is: a typed function with a JSON Schema, an effect class and limits. Pure.

Usage::

    @tool(effect=Effect.PURE)
    def add(a: float, b: float) -> float:
        '''Add two numbers.'''
        return a + b

    @tool(effect=Effect.IDEMPOTENT, timeout_seconds=10)
    async def charge(context: ToolContext, amount: int) -> str:
        '''Charge the customer (in cents).'''
        ...  # send context.idempotency_key with the request

Any app offers its tools in a module ``agent_tools``; ``tools.registry`` discovers those modules.
A parameter annotated ``ToolContext`` is filled in by the runtime and hidden from the model.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_type_hints
from uuid import UUID

import httpx
from pydantic import ConfigDict, TypeAdapter, create_model

from heartbit_site.base.errors import ConfigurationError

F = TypeVar("F", bound=Callable[..., Any])


class Effect(enum.StrEnum):
    """What repeating a call would do; the journal's promise follows from it (spec D3)."""

    PURE = "pure"  # no effect outside: may run again
    IDEMPOTENT = "idempotent"  # runs again with the same idempotency key
    TRANSACTIONAL = "transactional"  # shares one database transaction with its result
    AT_MOST_ONCE = "at_most_once"  # intent is committed first; never repeated by itself


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know of the call it serves.

    Attributes:
        workspace_id: Everything a tool reads or writes is scoped to it.
        run_id: The run that called.
        root_id: The root of its run tree (the blackboard's scope).
        agent: The agent's name.
        call_id: ``turn.index`` of the call within its run.
        idempotency_key: Stable over every attempt of this call: ``run_id:call_id``.
        http: The guarded client; the only way out for a request a model can steer.
    """

    workspace_id: int
    run_id: UUID
    root_id: UUID
    agent: str
    call_id: str
    idempotency_key: str
    http: httpx.AsyncClient


@dataclass(frozen=True, slots=True)
class ChildTask:
    """A sub-agent's task that a tool asks the runtime to run."""

    agent: str
    task: str


@dataclass(frozen=True, slots=True)
class Suspension:
    """Returned by a tool that cannot answer yet: the run gives its worker back until all are done.

    Attributes:
        children: Runs to start; each becomes one durable wait of the calling run.
        timeout_seconds: After this time unfinished children are cancelled and count as expired.
    """

    children: tuple[ChildTask, ...]
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class WaitOutcome:
    """How one wait of a suspended call ended: its subject (for a child: the agent) and value."""

    subject: str
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool, resolved.

    Attributes:
        name: Unique in a workspace's registry; ``[a-z][a-z0-9_]*``, at most 64 characters.
        description: What the model reads.
        parameters: JSON Schema of type object, without the context.
        effect: See ``Effect``; undeclared means at most once.
        timeout_seconds: Limit on one execution.
        function: Sync functions run in a thread, async ones on the process's loop. It takes the
            validated arguments by keyword (and the context, under ``context_parameter``).
        resume: For tools that return a ``Suspension``: builds the result from the outcomes.
        context_parameter: The parameter that receives the ``ToolContext``, if any.
        tags: Free labels for lists.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    effect: Effect = Effect.AT_MOST_ONCE
    timeout_seconds: float = 60.0
    resume: Callable[[tuple[WaitOutcome, ...]], Any] | None = None
    context_parameter: str | None = None
    tags: tuple[str, ...] = field(default=())

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)


def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = Effect.AT_MOST_ONCE,
    timeout_seconds: float = 60.0,
    tags: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Mark a function as a tool; its schema comes from its annotations, its text from its docstring.

    The function itself is returned unchanged, with its ``ToolSpec`` at ``__tool__``.

    Raises:
        ConfigurationError: A parameter has no annotation, or there is no description.
    """

    def decorate(function: F) -> F:
        function.__tool__ = spec_of(  # type: ignore[attr-defined]  # the mark discovery looks for
            function,
            name=name,
            description=description,
            effect=effect,
            timeout_seconds=timeout_seconds,
            tags=tags,
        )
        return function

    return decorate


def spec_of(
    function: Callable[..., Any] | Callable[..., Awaitable[Any]],
    *,
    name: str | None,
    description: str | None,
    effect: Effect,
    timeout_seconds: float,
    tags: tuple[str, ...],
) -> ToolSpec:
    """Build the ``ToolSpec`` of a typed function (see ``tool``)."""
    tool_name = name or function.__name__
    text = description or inspect.getdoc(function)
    if not text:
        raise ConfigurationError(
            f"Tool {tool_name!r} has no description: give its function a docstring."
        )
    hints = get_type_hints(function, include_extras=True)
    context_parameter: str | None = None
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in hints:
            raise ConfigurationError(
                f"Parameter {parameter.name!r} of tool {tool_name!r} has no type annotation: add one."
            )
        if hints[parameter.name] is ToolContext:
            context_parameter = parameter.name
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    model = create_model(tool_name, __config__=ConfigDict(extra="forbid"), **fields)
    schema = TypeAdapter(model).json_schema()
    schema.pop("title", None)
    return ToolSpec(
        name=tool_name,
        description=text.strip(),
        parameters=schema,
        function=function,
        effect=effect,
        timeout_seconds=timeout_seconds,
        context_parameter=context_parameter,
        tags=tags,
    )
