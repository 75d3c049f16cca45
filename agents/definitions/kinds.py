"""Kinds of runs: the one registry of the kinds and of each kind's parts. Pure.

A run is executed by its kind's engine, folded into its kind's state and shown as its kind's view. A
kind that is defined by rows of ``agents_agent`` has a spec: columns, snapshots, digests,
comparisons, rollbacks, the sections of ``heartbit.toml`` and the API's answers are derived from it.

An app of an installation adds a kind on import of its ``agent_tools``
(``docs/contributing/add-a-kind-of-run.md``)::

    add_kind(RegisteredKind("echo", engine=build, section="echoes", settings=EchoSpec))
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
    """A definition has a kind that is unknown to this process."""


@dataclass(frozen=True, slots=True)
class RegisteredKind:
    """A kind of run.

    A part is an object, or ``module:name`` of an object that not every process loads.

    Attributes:
        name: Value of the kind in runs, rows and snapshots.
        engine: Function that builds the engine of a claimed run
            (``agents.runtime.execution.engines.Build``); None: this process executes no such run.
        state: ``RunState`` on which the engine bases its decisions.
        view: ``RunView`` that displays a run.
        section: Name of its tables in ``heartbit.toml``; empty: no row defines such a run.
        check: Function that yields what is inconsistent in a table of settings, beyond the rules of
            all kinds (``agents.definitions.consistency``).
        pins_team: True if a version pins the versions of its team's members.
        settings: ``DefinitionSpec`` with the settings of its rows; settings that versions pin are
            ``Pinned``. Settings without a column are plain JSON.
    """

    name: str
    engine: Callable[..., Any] | str | None = None
    state: type[Any] | str = "agents.loop.state:RunState"
    view: type[Any] | str = "agents.live.view:RunView"
    section: str = ""
    check: Callable[..., Any] | str | None = None
    pins_team: bool = False
    settings: type[DefinitionSpec] | str = DefinitionSpec

    @property
    def spec(self) -> type[DefinitionSpec]:
        """Settings of its rows."""
        found: type[DefinitionSpec] = (
            _load(self.settings) if isinstance(self.settings, str) else self.settings
        )
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """Settings that are columns of the row."""
        return tuple(name for name in SETTINGS if name in self.spec.model_fields)

    @property
    def own(self) -> set[str]:
        """Settings that the row stores in ``definition``."""
        return self.spec.model_fields.keys() - {"name", "tools", "team", *SETTINGS}


AGENT: Final = RegisteredKind(
    "agent",
    engine="agents.runtime.execution.engines:build_agent",
    state="agents.loop.agent_state:AgentState",
    view="agents.live.agent_view:AgentView",
    section="agents",
    settings=AgentSpec,
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
    "workflow": RegisteredKind(
        "workflow",
        engine="agents.runtime.execution.workflows:build_workflow",
        state="agents.loop.workflow.state:WorkflowState",
        view="agents.live.workflow_view:WorkflowView",
        section="workflows",
        check="agents.runtime.execution.workflow_complaints:complaints",
        pins_team=True,
        settings="agents.workflows.spec.workflow:WorkflowSpec",
    ),
}


def add_kind(kind: RegisteredKind) -> None:
    """Register a kind in this process."""
    KINDS[kind.name] = kind


def part_of(kind: str, part: Literal["engine", "state", "view", "check"]) -> Any:
    """Return a part of a kind; for an unknown kind, the part common to all kinds."""
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
    """Return a kind for reading; for an unknown kind, the settings common to all kinds."""
    return KINDS.get(kind) or RegisteredKind(kind)


def kind_of(spec: DefinitionSpec) -> RegisteredKind:
    """Return the kind that has these settings."""
    return next(kind for kind in defined_kinds() if isinstance(spec, kind.spec))


def kind_in(snapshot: Mapping[str, Any]) -> str:
    """Return the name of a snapshot's kind; snapshots of agents do not contain it."""
    return str(snapshot.get("kind", AGENT.name))
