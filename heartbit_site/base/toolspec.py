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
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from uuid import UUID

    import httpx

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
        bind: Turns arguments that fit the schema into what the function's annotations say (dates,
            models, defaults); raises ``ValueError`` where a type wants more than its schema can
            say. ``None``: the function takes the JSON values as they are.
        defaults: Arguments used where the model gives none; they win over the function's own.
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
    bind: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)

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
    """Mark a function as a tool.

    Its schema comes from its annotations and its text from its docstring. The function itself is
    returned unchanged, with its ``ToolSpec`` at ``__tool__``.

    Raises:
        ConfigurationError: A parameter has no annotation or cannot be given by name, or there is
            no description.
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
    context_parameter, fields = _fields(function, tool_name)
    model = create_model(tool_name, __config__=ConfigDict(extra="forbid"), **fields)
    schema = model.model_json_schema(schema_generator=_Untitled)
    schema.pop("title", None)
    names = {field: information.alias or field for field, information in model.model_fields.items()}

    def bind(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            bound: BaseModel = model.model_validate(arguments)
        except ValidationError as error:
            raise ValueError(_sentences(error)) from None
        return {name: getattr(bound, field) for field, name in names.items()}

    return ToolSpec(
        name=tool_name,
        description=text.strip(),
        parameters=schema,
        function=function,
        effect=effect,
        timeout_seconds=timeout_seconds,
        context_parameter=context_parameter,
        tags=tags,
        bind=bind,
    )


class _Untitled(GenerateJsonSchema):
    """A title repeats the field's name: tokens for nothing."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def _sentences(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(str(step) for step in problem['loc'])}: {problem['msg']}"
        for problem in problems
    )


def _fields(function: Callable[..., Any], tool_name: str) -> tuple[str | None, dict[str, Any]]:
    """The context's parameter, and the others as fields of a pydantic model.

    Fields have neutral names and the parameters' as aliases: a parameter may be called ``json`` or
    ``schema``, which a model's attribute may not.
    """
    hints = get_type_hints(function, include_extras=True)
    context_parameter: str | None = None
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigurationError(
                f"Parameter {name!r} of tool {tool_name!r} cannot be given by name: make it a "
                "plain parameter."
            )
        if name not in hints:
            raise ConfigurationError(
                f"Parameter {name!r} of tool {tool_name!r} has no type annotation: add one."
            )
        if hints[name] is ToolContext:
            context_parameter = name
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[f"field_{len(fields)}"] = (hints[name], Field(default, alias=name))
    return context_parameter, fields
