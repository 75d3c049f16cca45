"""Executors: functions and classes that the nodes of a workflow call.

Usage::

    @executor(effect="pure", retry=2)
    def grade(draft: Draft, context: Context) -> Draft:
        context.add("rounds", 1)
        return draft.model_copy(update={"score": len(draft.text) / 400})

    @executor(effect="idempotent")
    class Publish:  # the executor "publish"; one instance is created, here and now
        def run(self, draft: Draft, context: Context) -> None: ...
        def reply(self, answer: bool, context: Context) -> None: ...

The parameter that is not the context is the message. The annotations are the types of messages: a
message is converted before the call, and its result after it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar, get_type_hints, overload

from agents.workflows.executors.context import Context
from agents.workflows.executors.types import MessageType
from agents.workflows.spec.node import RetrySpec
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import Effect

_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: Attribute of a function or a class that has its ``Executor``.
MARK: Final = "__executor__"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Handler:
    """A function with the types of its message and of its result.

    Attributes:
        message_parameter: Parameter that takes the message; empty: none.
        context_parameter: Parameter that takes the context; empty: none.
        input: Type of the message; None: the function takes none.
        output: Type of the result; None: the function returns nothing, or says nothing of it.
    """

    target: Callable[..., Any]
    message_parameter: str
    context_parameter: str
    input: MessageType | None
    output: MessageType | None

    @property
    def is_async(self) -> bool:
        """True if the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.target)

    def arguments(self, message: Any, context: Context) -> dict[str, Any]:
        """Return the arguments of a call.

        Raises:
            ValueError: The message does not fit its type.
        """
        arguments: dict[str, Any] = {}
        if self.input is not None:
            arguments[self.message_parameter] = self.input.read(message)
        if self.context_parameter:
            arguments[self.context_parameter] = context
        return arguments

    def result(self, returned: Any) -> Any:
        """Return the result of a call as a JSON value.

        Raises:
            ValueError: The result does not fit its type.
        """
        return (self.output or _ANY).write(returned)


@dataclass(frozen=True)
class Executor:
    """An executor, resolved.

    Attributes:
        name: Unique in an installation.
        run: Function that handles messages.
        reply: Function that handles the answers to its questions to people; None: it asks none.
        effect: Consequence of repeating a call (``Effect``); undeclared means at most once.
        retry: Retries, where the node declares none.
        version: Version of the behaviour, for changes that the types do not show.
        timeout_seconds: Time limit of one call.
        source: Module that defines it, for lists.
    """

    name: str
    run: Handler
    reply: Handler | None = None
    effect: Effect = Effect.AT_MOST_ONCE
    retry: RetrySpec = field(default_factory=RetrySpec)
    version: str = ""
    timeout_seconds: float = 60.0
    source: str = ""

    @cached_property
    def input_schema(self) -> dict[str, Any] | None:
        """JSON Schema of its messages; None: any."""
        return None if self.run.input is None else self.run.input.schema()

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """JSON Schema of its output; None: unknown."""
        return None if self.run.output is None else self.run.output.schema("serialization")

    @cached_property
    def interface_hash(self) -> str:
        """SHA-256 of everything that versions pin of the executor."""
        reply = self.reply.input if self.reply is not None else None
        interface = {
            "name": self.name,
            "input": self.input_schema,
            "output": self.output_schema,
            "reply": None if reply is None else reply.schema(),
            "effect": str(self.effect),
            "version": self.version,
        }
        text = json.dumps(interface, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


@overload
def executor(marked: F, /) -> F: ...


@overload
def executor(
    *,
    name: str | None = None,
    effect: Effect | str = Effect.AT_MOST_ONCE,
    retry: int | RetrySpec = 0,
    version: str = "",
    timeout_seconds: float = 60.0,
    reply: Callable[..., Any] | None = None,
) -> Callable[[F], F]: ...


def executor(marked: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Mark a function, or a class, as an executor.

    A class needs a constructor without arguments and a method ``run``; its method ``reply``, if it
    has one, handles answers. The function or class is returned unchanged.

    Args:
        marked: The function or class, when the decorator is written without brackets.
        options: ``name`` (else the function's own, or the class's in snake case), ``effect``,
            ``retry`` (times, or a ``RetrySpec``), ``version``, ``timeout_seconds`` and
            ``reply``, as in ``Executor``.

    Raises:
        ConfigurationError: A parameter has no annotation, there is more than one message, or the
            class cannot be created.
    """

    def decorate(marked: F) -> F:
        setattr(marked, MARK, _read(marked, **options))
        return marked

    return decorate if marked is None else decorate(marked)


def executor_of(marked: object) -> Executor | None:
    """Return the executor of a function or a class; None: it is not marked."""
    found = getattr(marked, MARK, None)
    return found if isinstance(found, Executor) else None


def _read(
    marked: Callable[..., Any],
    *,
    name: str | None = None,
    effect: Effect | str = Effect.AT_MOST_ONCE,
    retry: int | RetrySpec = 0,
    reply: Callable[..., Any] | None = None,
    **fields: Any,
) -> Executor:
    function, own_name = marked, getattr(marked, "__name__", "")
    if isinstance(marked, type):
        own_name = _WORD_START.sub("_", own_name).lower()
        function, reply = _methods(marked, own_name)
    name = name or own_name
    known_effect = _effect(effect, name)
    if name == "<lambda>":
        raise ConfigurationError("A lambda is no executor: it has no name that can be pinned.")
    return Executor(
        name=name,
        run=_handler(function, name),
        reply=None if reply is None else _handler(reply, name),
        effect=known_effect,
        retry=RetrySpec(times=retry) if isinstance(retry, int) else retry,
        source=str(getattr(marked, "__module__", "")),
        **fields,
    )


def _methods(kind: type, name: str) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    try:
        inspect.signature(kind).bind()
    except TypeError:
        raise ConfigurationError(
            f"The executor {name!r} cannot be made: the constructor of {kind.__name__} has to "
            "work without arguments."
        ) from None
    instance = kind()
    run = getattr(instance, "run", None)
    if not callable(run):
        raise ConfigurationError(
            f"The executor {name!r} does nothing: give {kind.__name__} a method run."
        )
    return run, getattr(instance, "reply", None)


def _effect(effect: str, name: str) -> Effect:
    try:
        return Effect(effect)
    except ValueError:
        raise ConfigurationError(
            f"The executor {name!r} has the effect {effect!r}: write one of {', '.join(Effect)}."
        ) from None


def _handler(function: Callable[..., Any], name: str) -> Handler:
    hints = _hints(function, name)
    messages: list[str] = []
    context = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigurationError(
                f"The executor {name!r} has the parameter {parameter.name!r}, which cannot be "
                "given by name: make it a plain parameter."
            )
        if parameter.name not in hints:
            raise ConfigurationError(
                f"The executor {name!r} has the parameter {parameter.name!r} without a type: "
                "annotate it."
            )
        if hints[parameter.name] is Context:
            context = parameter.name
        else:
            messages.append(parameter.name)
    if len(messages) > 1:
        raise ConfigurationError(
            f"The executor {name!r} takes several messages ({', '.join(messages)}): a message is "
            "one object; let its type have these fields."
        )
    [message] = messages or [""]
    returned = hints.get("return")
    has_output = returned not in (None, type(None), Any)
    return Handler(
        function,
        message,
        context,
        MessageType(hints[message], f"The message of {name!r}") if message else None,
        MessageType(returned, f"The result of {name!r}") if has_output else None,
    )


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigurationError(
            f"The executor {name!r} has the type {error.name}, which is not there when the program "
            "runs: import or define it at the module's top, outside TYPE_CHECKING."
        ) from None


_ANY: Final = MessageType(Any, "The result")
