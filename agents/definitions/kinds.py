"""Kinds of runs: the one list of what a run may be, and of the parts that each kind has. Pure.

A run is executed by its kind's engine, folded into its kind's state and shown as its kind's view. A
kind that rows of ``agents_agent`` define has a spec: columns, snapshots, digests, comparisons,
rollbacks, the sections of ``heartbit.toml`` and the API's answers are derived from it.

An app of an installation adds a kind on import of its ``agent_tools``
(``docs/contributing/add-a-kind-of-run.md``)::

    add_kind(RegisteredKind("echo", engine=build, section="echoes", spec=EchoSpec))
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from agents.definitions.spec import SETTINGS, AgentSpec, DefinitionSpec
from heartbit_site.base.errors import ConfigurationError


class UnknownKindError(ConfigurationError):
    """A definition is of a kind that this process does not know."""


@dataclass(frozen=True, slots=True)
class RegisteredKind:
    """A kind of run.

    A part is the object, or ``module:name`` of an object that not every process loads.

    Attributes:
        name: The kind of its runs, rows and snapshots.
        engine: Function that builds the engine of a claimed run
            (``agents.runtime.execution.engines.Build``); None: this process executes no such run.
        state: What the engine decides from, a ``RunState``.
        view: What is shown of a run, a ``RunView``.
        section: Name of its tables in ``heartbit.toml``; empty: no row defines such a run.
        spec: Settings of its rows; those that versions pin are ``Pinned``. Settings that no column
            holds are plain JSON.
    """

    name: str
    engine: Callable[..., Any] | str | None = None
    state: type[Any] | str = "agents.loop.state:RunState"
    view: type[Any] | str = "agents.live.view:RunView"
    section: str = ""
    spec: type[DefinitionSpec] = DefinitionSpec

    @property
    def columns(self) -> tuple[str, ...]:
        """Settings that are columns of the row."""
        return tuple(name for name in SETTINGS if name in self.spec.model_fields)

    @property
    def own(self) -> set[str]:
        """Settings that the row holds in ``definition``."""
        return self.spec.model_fields.keys() - {"name", "tools", "team", *SETTINGS}


AGENT: Final = RegisteredKind(
    "agent",
    engine="agents.runtime.execution.engines:build_agent",
    state="agents.loop.agent_state:AgentState",
    view="agents.live.agent_view:AgentView",
    section="agents",
    spec=AgentSpec,
)
KINDS: Final = {
    "agent": AGENT,
    "tool_call": RegisteredKind(
        "tool_call",
        engine="agents.runtime.execution.engines:build_tool_call",
        state="agents.loop.tool_call_state:ToolCallState",
        view="agents.live.agent_view:ToolCallView",
    ),
    "extraction": RegisteredKind(
        "extraction",
        engine="agents.runtime.execution.engines:build_extraction",
        state="agents.loop.extraction_state:ExtractionState",
        view="agents.live.agent_view:AgentView",
    ),
}


def add_kind(kind: RegisteredKind) -> None:
    """Add a kind to those that this process knows."""
    KINDS[kind.name] = kind


def part_of(kind: str, part: Literal["engine", "state", "view"]) -> Any:
    """Return a part of a kind; of a kind that this process does not know, what all kinds have."""
    found = getattr(readable_kind(kind), part)
    return _load(found) if isinstance(found, str) else found


@functools.cache
def _load(path: str) -> Any:
    return pkgutil.resolve_name(path)


def defined_kinds() -> list[RegisteredKind]:
    """Return the kinds that rows of ``agents_agent`` define."""
    return [kind for kind in KINDS.values() if kind.section]


def find_kind(kind: str, name: str) -> RegisteredKind:
    """Return the kind of a definition.

    Args:
        kind: Name of the kind.
        name: Name of the definition, for the message.

    Raises:
        UnknownKindError: This process does not know the kind.
    """
    if not readable_kind(kind).section:
        raise UnknownKindError(
            f"{name} is of the kind {kind}, which is unknown here: add the app that defines it to "
            "HEARTBIT_EXTRA_APPS."
        )
    return KINDS[kind]


def readable_kind(kind: str) -> RegisteredKind:
    """Return a kind for reading: of an unknown one, the settings that all kinds have."""
    return KINDS.get(kind) or RegisteredKind(kind)


def kind_of(spec: DefinitionSpec) -> RegisteredKind:
    """Return the kind whose settings these are."""
    return next(kind for kind in defined_kinds() if isinstance(spec, kind.spec))


def kind_in(snapshot: Mapping[str, Any]) -> str:
    """Return the name of a snapshot's kind; an agent's snapshot does not say it."""
    return str(snapshot.get("kind", AGENT.name))
