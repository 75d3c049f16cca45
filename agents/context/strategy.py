"""Context strategies, which select the part of a conversation that a model gets, and their JSON.

Usage::

    strategy = parse({"type": "sliding_window", "max_tokens": 100_000})
    dump(strategy)      # the same mapping again

Sizes are estimates for the conversation alone (``agents.context.tokens``): leave room below the
model's window for the system prompt, the tools and the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, ClassVar

from heartbit_site.base.errors import ConfigurationError
from tools.texts.near_names import closest

MAX_SIZE = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Sized:
    """A strategy whose fields are all whole numbers from 1."""

    type: ClassVar[str]

    def __post_init__(self) -> None:
        for field in fields(self):
            value: object = getattr(self, field.name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not 1 <= getattr(self, field.name) <= MAX_SIZE:
                raise ConfigurationError(
                    f"{field.name} of the context strategy {self.type} is a whole number from 1 to "
                    f"{MAX_SIZE}, not {_shown(value)}."
                )


@dataclass(frozen=True, slots=True)
class Unlimited(_Sized):
    """The whole conversation."""

    type: ClassVar[str] = "unlimited"


@dataclass(frozen=True, slots=True)
class SlidingWindow(_Sized):
    """The first user message and the newest groups, within a token budget.

    Attributes:
        max_tokens: Budget in tokens, the first message included.
    """

    type: ClassVar[str] = "sliding_window"
    max_tokens: int


@dataclass(frozen=True, slots=True)
class LastMessages(_Sized):
    """The first user message and the newest groups, within a number of messages.

    Attributes:
        count: Budget in messages, the first included; each result of a call is a message.
    """

    type: ClassVar[str] = "last_messages"
    count: int


@dataclass(frozen=True, slots=True)
class ImportantRecent(_Sized):
    """The first user message, the newest groups, and the most important older ones.

    Attributes:
        max_tokens: Budget in tokens, the first message included.
        recent: Number of newest groups that are kept before any older one.
    """

    type: ClassVar[str] = "important_recent"
    max_tokens: int
    recent: int = 8


@dataclass(frozen=True, slots=True)
class Summarize(_Sized):
    """The newest groups, after a summary of the older ones that a model writes.

    Attributes:
        threshold: Size of the conversation in tokens from which a summary is due.
        keep_recent: Number of newest groups that stay unchanged.
    """

    type: ClassVar[str] = "summarize"
    threshold: int
    keep_recent: int = 6


Strategy = Unlimited | SlidingWindow | LastMessages | ImportantRecent | Summarize

_TYPES: dict[str, type[Strategy]] = {kind.type: kind for kind in Strategy.__args__}


def parse(value: object) -> Strategy:
    """Build the strategy from a JSON object such as ``{"type": "unlimited"}``.

    Raises:
        ConfigurationError: The type is unknown, or a field is missing, unknown or not a whole
            number from 1.
    """
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"A context strategy is an object such as {{'type': 'unlimited'}}, not {_shown(value)}."
        )
    kind = _kind(value.get("type"))
    known = {field.name: field.default is MISSING for field in fields(kind)}
    given = {name: value[name] for name in value if name != "type"}
    for name in given:
        if name not in known:
            raise ConfigurationError(
                f"The context strategy {kind.type} has no field {_shown(name)}"
                f"{_nearest(name, known)}: it takes {', '.join(known) or 'none'}."
            )
    for name, required in known.items():
        if required and name not in given:
            raise ConfigurationError(
                f"The context strategy {kind.type} needs the field {name!r}, a whole number."
            )
    return kind(**given)


def dump(strategy: Strategy) -> dict[str, Any]:
    """Return the strategy as JSON for ``parse``."""
    return {"type": strategy.type, **asdict(strategy)}


def _kind(name: object) -> type[Strategy]:
    if isinstance(name, str) and name in _TYPES:
        return _TYPES[name]
    problem = "has no 'type'" if name is None else f"cannot be of type {_shown(name)}"
    raise ConfigurationError(
        f"A context strategy {problem}{_nearest(name, _TYPES)}: the types are {', '.join(_TYPES)}."
    )


def _nearest(name: object, known: Mapping[str, Any]) -> str:
    near = closest(name, known) if isinstance(name, str) else ()
    return f" (did you mean {near[0]!r}?)" if near else ""


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, (str, int, float)) else f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}..."
