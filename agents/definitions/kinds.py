"""Kinds of definitions: the one list of what a row of ``agents_agent`` may define. Pure.

Columns, snapshots, digests, comparisons, rollbacks, the sections of ``heartbit.toml`` and the API's
answers are derived from a kind's spec. An app of an installation adds a kind on import of its
``agent_tools``::

    add_kind(DefinitionKind("echo", section="echoes", spec=EchoSpec))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agents.definitions.spec import SETTINGS, AgentSpec, DefinitionSpec
from heartbit_site.base.errors import ConfigurationError


class UnknownKindError(ConfigurationError):
    """A definition is of a kind that this process does not know."""


@dataclass(frozen=True, slots=True)
class DefinitionKind:
    """A kind of definition.

    Attributes:
        name: The kind of its rows, snapshots and runs.
        section: Name of its tables in ``heartbit.toml``.
        spec: Its settings; those that versions pin are ``Pinned``. Settings that no column holds
            are plain JSON.
    """

    name: str
    section: str
    spec: type[DefinitionSpec]

    @property
    def columns(self) -> tuple[str, ...]:
        """Settings that are columns of the row."""
        return tuple(name for name in SETTINGS if name in self.spec.model_fields)

    @property
    def own(self) -> set[str]:
        """Settings that the row holds in ``definition``."""
        return self.spec.model_fields.keys() - {"name", "tools", "team", *SETTINGS}


AGENT: Final = DefinitionKind("agent", section="agents", spec=AgentSpec)
KINDS: Final = {AGENT.name: AGENT}


def add_kind(kind: DefinitionKind) -> None:
    """Add a kind to those that this process knows."""
    KINDS[kind.name] = kind


def find_kind(kind: str, name: str) -> DefinitionKind:
    """Return the kind of a definition.

    Args:
        kind: Name of the kind.
        name: Name of the definition, for the message.

    Raises:
        UnknownKindError: This process does not know the kind.
    """
    if kind not in KINDS:
        raise UnknownKindError(
            f"{name} is of the kind {kind}, which is unknown here: add the app that defines it to "
            "HEARTBIT_EXTRA_APPS."
        )
    return KINDS[kind]


def readable_kind(kind: str) -> DefinitionKind:
    """Return a kind for reading: of an unknown one, the settings that all kinds have."""
    return KINDS.get(kind) or DefinitionKind(kind, section="", spec=DefinitionSpec)


def kind_of(spec: DefinitionSpec) -> DefinitionKind:
    """Return the kind whose settings these are."""
    return next(kind for kind in KINDS.values() if isinstance(spec, kind.spec))


def kind_in(snapshot: Mapping[str, Any]) -> str:
    """Return the name of a snapshot's kind; an agent's snapshot does not say it."""
    return str(snapshot.get("kind", AGENT.name))
