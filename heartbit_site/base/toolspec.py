"""Tools: typed functions with a JSON Schema, an effect class and limits. Pure.

Usage::

    @tool(effect=Effect.PURE, labels=())
    def add(a: float, b: float) -> float:
        '''Add two numbers.'''
        return a + b

    @tool(effect=Effect.IDEMPOTENT, timeout_seconds=10, labels=(Label.OUTBOUND,))
    async def charge(context: ToolContext, bank: BearerCredential, amount: int) -> str:
        '''Charge the customer (in cents).'''
        ...  # send context.idempotency_key with the request

    @tool
    class OpenTicket:  # the tool open_ticket; one instance is created, here and now
        '''Open a ticket.'''

        def run(self, title: str) -> str: ...

Any app offers its tools in a module ``agent_tools``, and any package by the entry point group
``heartbit.tools``; ``tools`` discovers both. The runtime supplies a parameter annotated
``ToolContext``, or with a type of ``heartbit_site.base.credentials``, and hides it from the model;
a person supplies one annotated ``Answer``, and each call waits for that. The guide:
docs/howto/tools.md.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from heartbit_site.base import docstrings
from heartbit_site.base.call_summary import check_summary
from heartbit_site.base.credentials import CredentialNeed
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.suspensions import QuestionReply, Resume
from heartbit_site.base.tool_parameters import read_parameters

if TYPE_CHECKING:
    import httpx

    #: Coroutine function that takes what the tool's function takes.
    Connect = Callable[..., Awaitable[None]]

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
F = TypeVar("F", bound=Callable[..., Any])


class Effect(enum.StrEnum):
    """Consequence of repeating a call, from which the journal's promise follows."""

    PURE = "pure"  # changes nothing that a repetition would change again: may run again
    IDEMPOTENT = "idempotent"  # runs again with the same idempotency key
    TRANSACTIONAL = "transactional"  # shares one database transaction with its result
    AT_MOST_ONCE = "at_most_once"  # intent is committed first; never repeated by itself


class Origin(enum.StrEnum):
    """Source of a tool's registration."""

    CODE = "code"  # an app of the installation
    PACKAGE = "package"  # an entry point of an installed package
    PROGRAM = "program"  # a program that uses the library; known in its own process only
    MCP = "mcp"  # an MCP server of a workspace


class Label(enum.StrEnum):
    """Property of a tool's data flow, from which the rule on mixed data follows."""

    UNTRUSTED = "untrusted"  # its result contains text by outsiders: mail, web pages, MCP servers
    PRIVATE = "private"  # its result contains data of the workspace or of a person
    OUTBOUND = "outbound"  # its arguments leave the installation
    SHARED = "shared"  # outsiders write or read where its arguments go


#: Labels of a tool that declares none: its result may hold anything.
UNDECLARED: Final = frozenset({Label.UNTRUSTED, Label.PRIVATE})


def _show_to_no_one(text: str) -> None:
    """Discard a progress sentence if no one watches."""


def _never_private() -> bool:
    """Return False: without a run everything may be kept."""
    return False


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Context of the call that a tool serves.

    Attributes:
        workspace_id: Workspace to which everything that a tool reads or writes is scoped.
        run_id: The calling run.
        root_id: The root of its run tree (the blackboard's scope).
        agent: The agent's name.
        call_id: ``turn.index`` of the call within its run.
        idempotency_key: Stable over every attempt of this call: ``run_id:call_id``.
        http: The guarded client, for every request that a model can steer.
        user_id: The person who started the run tree, or who owns its schedule; None: no person did,
            or ``is_shared``.
        is_shared: True once another person said something to the run: it works for no one in
            particular, and changes no memories but those of its conversation.
        conversation_id: The run's conversation, if it has one.
        deadline: Time after which the result is dropped.
        read_artifact: Returns the content of an artifact that the run tree stored, by its name.
            Blocking; raises ``HeartbitError`` if there is none. None if nothing is stored here.
        reply: Reply to the question that this call asked before; None: it asked none.
        store_artifact: Stores a file of the call and returns the artifact's name; the same file has
            the same name again. Blocking; raises ``HeartbitError`` if there is no room.
        read_skill: Returns the files of one of the agent's skills by path, given the skill's name.
            Blocking; raises ``HeartbitError`` if there is none. None: there are no skills here.
        emit: Shows a sentence on what the call has done so far to people who watch the run; it is
            not kept. From any thread; never blocks or fails.
        is_private: Returns True if one person alone reads the run: its tools keep no text where
            others read it. Blocking.
        knowledge_bases: Names of the knowledge bases that the agent's tool is given; none: all of
            the workspace.
        labels_read: Returns the labels of what the run tree has read so far, for tools that store
            texts of the model for later runs. Blocking. None: nothing is known here.
    """

    workspace_id: int
    run_id: UUID
    root_id: UUID
    agent: str
    call_id: str
    idempotency_key: str
    http: httpx.AsyncClient
    user_id: int | None = None
    is_shared: bool = False
    conversation_id: UUID | None = None
    deadline: datetime | None = None
    read_artifact: Callable[[str], bytes] | None = None
    store_artifact: Callable[[str, bytes], str] | None = None
    reply: QuestionReply | None = None
    read_skill: Callable[[str], Mapping[str, bytes]] | None = None
    labels_read: Callable[[], frozenset[Label]] | None = None
    is_private: Callable[[], bool] = _never_private
    emit: Callable[[str], None] = _show_to_no_one
    knowledge_bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to a call of a tool with a parameter of this type.

    Attributes:
        value: A JSON value that fits the form: the JSON Schema in the call's argument ``form``, or
            text where there is none.
    """

    value: Any


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool, resolved.

    Attributes:
        name: Unique in a workspace's registry; ``[a-z][a-z0-9_]*``, at most 64 characters.
        description: Text for the model.
        parameters: JSON Schema of type object, without the context.
        effect: See ``Effect``; undeclared means at most once.
        timeout_seconds: Limit on one execution.
        function: Sync functions run in a thread, async ones on the process's loop. It takes the
            validated arguments by keyword (and the context, under ``context_parameter``).
        resume: For tools that return a ``Suspension``: builds the result from the outcomes.
        connect: Coroutine function that opens what the function needs, such as a connection, with
            its arguments. It precedes the intent of a call with an external effect: after an error
            or a worker crash in it, the function has certainly not started.
        context_parameter: The parameter that receives the ``ToolContext``, if any.
        answer_parameter: The parameter that receives a person's ``Answer``, if any: then every call
            waits for a person to answer.
        tags: Words for lists.
        bind: Turns arguments that fit the schema into the types of the function's annotations
            (dates, models, defaults); raises ``ValueError`` if a type requires more than its schema
            can express. ``None``: the function takes the JSON values as they are.
        defaults: Arguments used where the model gives none; they take precedence over the
            function's own.
        credentials: Credentials that the tool asks for; a call without one is refused.
        labels: See ``Label``; a tool that declares none is ``UNDECLARED``.
        requires: Django permission that the person behind the run has to have; empty: none.
        summary: Sentence about a call, with parameters in braces, which people read where a call
            waits (``heartbit_site.base.call_summary``); empty: none.
        source: Its module, or its package with version, for lists.
        origin: Source of its registration.
        request: The HTTP request that a call makes, for an API's operation; None: other tools.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    effect: Effect = Effect.AT_MOST_ONCE
    timeout_seconds: float = 60.0
    resume: Resume | None = None
    connect: Connect | None = None
    context_parameter: str | None = None
    answer_parameter: str | None = None
    tags: tuple[str, ...] = field(default=())
    bind: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    credentials: tuple[CredentialNeed, ...] = field(default=())
    labels: frozenset[Label] = UNDECLARED
    requires: str = ""
    summary: str = ""
    source: str = ""
    origin: Origin = Origin.CODE
    request: Mapping[str, Any] | None = None

    @property
    def is_async(self) -> bool:
        """True if the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)


@overload
def tool(marked: F, /) -> F: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect | str = Effect.AT_MOST_ONCE,
    timeout_seconds: float = 60.0,
    tags: tuple[str, ...] = (),
    labels: tuple[Label, ...] | None = None,
    requires: str = "",
    summary: str = "",
    resume: Resume | None = None,
    connect: Connect | None = None,
) -> Callable[[F], F]: ...


def tool(marked: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Mark a function, or a class, as a tool.

    Its schema comes from the annotations, its text from the docstring and its parameters' texts
    from ``Annotated[..., Field(description=...)]`` or the docstring's ``Args:``. A class needs a
    docstring, a constructor without arguments and a typed method ``run`` (or ``__call__``); one
    instance is created at once, and its methods ``resume`` and ``connect``, if it has them, are the
    options of these names. The function or class is returned unchanged, with its ``ToolSpec`` at
    ``__tool__``.

    Args:
        marked: The function or class, when the decorator is written without brackets.
        options: ``name`` (else the function's own, or the class's in snake case), ``description``,
            ``effect``, ``timeout_seconds``, ``tags``, ``labels``, ``requires``, ``summary``,
            ``resume`` and ``connect``, as in ``ToolSpec``.

    Raises:
        ConfigurationError: A parameter has no annotation or cannot be given by name, there is no
            description, no such effect class, the summary names no parameter, or the class cannot
            be a tool.
    """

    def decorate(marked: F) -> F:
        make: Callable[..., ToolSpec] = spec_of_class if isinstance(marked, type) else spec_of
        marked.__tool__ = make(marked, **options)  # type: ignore[attr-defined]  # the mark discovery looks for
        return marked

    return decorate if marked is None else decorate(marked)


def spec_of_class(kind: type, *, name: str | None = None, **options: Any) -> ToolSpec:
    """Build the ``ToolSpec`` of a class and its one instance (see ``tool``)."""
    tool_name = name or _snake_case(kind.__name__)
    try:
        inspect.signature(kind).bind()
    except TypeError as error:
        raise ConfigurationError(
            f"Tool {tool_name!r} cannot be created: the constructor of {kind.__name__} must work "
            "without arguments."
        ) from error
    instance = kind()
    method = getattr(instance, "run", None) or getattr(instance, "__call__", None)  # noqa: B004  the bound method is wanted
    if not callable(method):
        raise ConfigurationError(
            f"Tool {tool_name!r} does nothing: give {kind.__name__} a method run."
        )
    options.setdefault("resume", getattr(instance, "resume", None))
    options.setdefault("connect", getattr(instance, "connect", None))
    return spec_of(method, name=tool_name, docstring=inspect.getdoc(kind), **options)


def spec_of(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    docstring: str | None = None,
    effect: Effect | str = Effect.AT_MOST_ONCE,
    labels: tuple[Label, ...] | None = None,
    summary: str = "",
    **fields: Any,
) -> ToolSpec:
    """Build the ``ToolSpec`` of a typed function (see ``tool``).

    Args:
        function: Sync or async; a bound method too.
        name: The function's own if None.
        description: The docstring's text if None.
        docstring: Read before the function's own.
        effect: The class, or its value.
        labels: See ``Label``; None: ``UNDECLARED``; an empty tuple: none of them.
        summary: See ``ToolSpec``.
        fields: Other fields of ``ToolSpec``.
    """
    tool_name = name or function.__name__
    text, told = docstrings.read(docstring or "")
    own_text, own_told = docstrings.read(inspect.getdoc(function) or "")
    parameters = read_parameters(function, tool_name, {**told, **own_told}, (ToolContext, Answer))
    model = create_model(tool_name, __config__=ConfigDict(extra="forbid"), **parameters.fields)
    schema = _schema_of(model)
    check_summary(summary, schema, tool=tool_name)
    return ToolSpec(
        name=tool_name,
        description=_checked_text(description or text or own_text, tool_name),
        parameters=schema,
        function=function,
        effect=_effect(effect, tool_name),
        context_parameter=parameters.given.get(ToolContext),
        answer_parameter=parameters.given.get(Answer),
        bind=partial(_bind, model),
        credentials=tuple(parameters.credentials),
        labels=UNDECLARED if labels is None else frozenset(labels),
        summary=summary,
        source=str(getattr(function, "__module__", "")),
        **fields,
    )


def _checked_text(text: str, tool_name: str) -> str:
    if not text.strip():
        raise ConfigurationError(f"Tool {tool_name!r} has no description: give it a docstring.")
    return text.strip()


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(schema_generator=_Untitled)
    schema.pop("title", None)
    return schema


def _bind(model: type[BaseModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        bound = model.model_validate(arguments)
    except ValidationError as error:
        raise ValueError(_sentences(error)) from None
    fields = model.model_fields.items()
    return {information.alias or field: getattr(bound, field) for field, information in fields}


def _effect(effect: str, tool_name: str) -> Effect:
    try:
        return Effect(effect)
    except ValueError:
        raise ConfigurationError(
            f"Tool {tool_name!r} has the effect {effect!r}: use one of {', '.join(Effect)}."
        ) from None


def _snake_case(name: str) -> str:
    return _WORD_START.sub("_", name).lower()


class _Untitled(GenerateJsonSchema):
    """A generator of schemas without titles, which repeat the field's name and cost tokens."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def _sentences(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(str(step) for step in problem['loc'])}: {problem['msg']}"
        for problem in problems
    )
