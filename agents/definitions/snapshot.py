"""Snapshots of versions: canonical JSON of a definition's settings, and back. Pure.

A snapshot holds what the model sees, the limits, and the kind, unless the definition is an agent's.
It has a format version, but no name, times or secrets, so an unchanged definition always hashes to
the same version. Each setting declares its place in snapshots, in ``agents.definitions.spec``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, Final, get_args

from agents.context import strategy
from agents.definitions.definition import (
    BLACKBOARD,
    AgentDefinition,
    BoundTool,
    PinnedSkill,
    TeamWorkflow,
)
from agents.definitions.kinds import AGENT, RegisteredKind, kind_in, kind_of
from agents.definitions.setting_types import Money
from agents.definitions.spec import AgentSpec, DefinitionSpec, Pinned, ToolGrant
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.spec import Spec

FORMAT: Final = 2
_READABLE: Final = (1, 2)  # settings missing in format 1 have their defaults


@cache
def pins_of(model: type[Spec]) -> dict[str, Pinned]:
    """Return the places in snapshots of the settings that versions pin, by name."""
    found = {}
    for name, field in model.model_fields.items():
        for pin in field.metadata:
            if isinstance(pin, Pinned):
                found[name] = pin
    return found


def digest(snapshot: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the snapshot's canonical JSON (sorted keys, no white space, UTF-8)."""
    text = json.dumps(snapshot, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write(
    spec: DefinitionSpec,
    hashes: Mapping[str, str],
    team: Iterable[Mapping[str, Any]],
    skills: Iterable[PinnedSkill] = (),
) -> dict[str, Any]:
    """Return the snapshot of a definition.

    Args:
        spec: Settings of the definition, with its tools in the database's order.
        hashes: Hash of the definition of each enabled tool, by name.
        team: Name and description of each member, in the database's order. A pinned member has
            the hash of its ``version`` too (an empty one pins none), and a workflow its ``input``.
        skills: Skills by name; without skills the snapshot is the same as before skills existed.
    """
    off = sorted(one.name for one in spec.tools if not one.enabled and one.name in BLACKBOARD)
    pinned, kind = [skill._asdict() for skill in skills], kind_of(spec)
    return {
        "format": FORMAT,
        **({} if kind is AGENT else {"kind": kind.name}),
        **_kept(spec),
        "tools": [
            {"name": grant.name, "hash": hashes[grant.name], **_kept(grant)}
            for grant in spec.tools
            if grant.enabled
        ],
        "team": [dict(member) for member in team],
        **({"skills": pinned} if pinned else {}),
        **({"turned_off": off} if off else {}),
    }


def settings_of(snapshot: Mapping[str, Any], spec: type[Spec]) -> dict[str, Any]:
    """Return the settings that a snapshot contains, by name."""
    return _found(snapshot, spec)


def unknown_settings(snapshot: Mapping[str, Any], spec: type[Spec]) -> list[str]:
    """Return the names of the settings in a snapshot that only a newer Heartbit knows."""
    groups: dict[str, set[str]] = {"": {"format", "kind", "tools", "team", "skills", "turned_off"}}
    for name, pin in pins_of(spec).items():
        groups.setdefault(pin.group, set()).add(pin.name or name)
        groups[""].add(pin.group or pin.name or name)
    return [
        name
        for group, known in groups.items()
        for name in (snapshot.get(group, {}) if group else snapshot)
        if name not in known
    ]


def grant_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a snapshot contains for one of its tools, by name."""
    return _found(tool, ToolGrant)


def pinned_skills(snapshot: Mapping[str, Any]) -> tuple[PinnedSkill, ...]:
    """Return the skills in a snapshot."""
    return tuple(
        PinnedSkill(skill["name"], skill["description"], skill["hash"])
        for skill in snapshot.get("skills", ())
    )


def check_format(
    version_id: int, name: str, snapshot: Mapping[str, Any], kind: RegisteredKind = AGENT
) -> None:
    """Reject a snapshot that this Heartbit cannot read.

    Raises:
        ConfigurationError: A newer Heartbit wrote the snapshot, or its kind is another one.
    """
    if (found := kind_in(snapshot)) != kind.name:
        raise ConfigurationError(
            f"Version {version_id} of {name!r} defines a run of the kind {found}, not of "
            f"the kind {kind.name}."
        )
    if snapshot.get("format") not in _READABLE:
        raise ConfigurationError(
            f"Version {version_id} of {kind.name} {name!r} has snapshot format "
            f"{snapshot.get('format')!r}; this Heartbit reads formats up to {FORMAT}: upgrade the "
            "workers."
        )


def read(version_id: int, agent_id: int, name: str, snapshot: Mapping[str, Any]) -> AgentDefinition:
    """Return the definition in a stored snapshot.

    Raises:
        ConfigurationError: A newer Heartbit wrote the snapshot, it is not an agent's, or its
            context strategy is unknown.
    """
    check_format(version_id, name, snapshot)
    # Not validated again: runs use the settings that were valid at publication.
    definition = AgentDefinition.model_construct(
        **settings_of(snapshot, AgentSpec),
        version_id=version_id,
        agent_id=agent_id,
        name=name,
        tools=_bound_tools(snapshot),
        team=tuple(
            (member["name"], member["description"])
            for member in snapshot["team"]
            if "version" not in member
        ),
        workflows=tuple(
            TeamWorkflow(
                member["name"], member["description"], member["version"], member.get("input")
            )
            for member in snapshot["team"]
            if "version" in member
        ),
        skills=[skill["name"] for skill in snapshot.get("skills", ())],
        pinned_skills=pinned_skills(snapshot),
        turned_off=tuple(snapshot.get("turned_off", ())),
    )
    strategy.parse(definition.context_strategy)  # rejects an unknown strategy before any slice
    return definition


def read_tools(
    version_id: int, agent_id: int, name: str, snapshot: Mapping[str, Any], **settings: Any
) -> AgentDefinition:
    """Return what tool calls read of a stored snapshot that is not an agent's.

    Args:
        version_id: Id of the version.
        agent_id: Id of its row.
        name: Name of its row.
        snapshot: The snapshot.
        settings: Settings that differ from an agent's defaults.
    """
    return AgentDefinition.model_construct(
        version_id=version_id,
        agent_id=agent_id,
        name=name,
        system_prompt="",
        tools=_bound_tools(snapshot),
        **settings,
    )


def _bound_tools(snapshot: Mapping[str, Any]) -> tuple[BoundTool, ...]:
    return tuple(
        BoundTool.model_construct(name=tool["name"], pinned=tool["hash"], **grant_of(tool))
        for tool in snapshot["tools"]
    )


def _kept(settings: Spec) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, pin in pins_of(type(settings)).items():
        if pin.late and not any(_says(settings, each) for each in (name, pin.beside) if each):
            continue
        value = getattr(settings, name)
        place = kept.setdefault(pin.group, {}) if pin.group else kept
        place[pin.name or name] = _plain(value)
    return kept


def _plain(value: Any) -> Any:
    """Return a setting as JSON values: an amount as text, and settings within it as an object."""
    match value:
        case Decimal():
            return str(value)
        case Spec():
            return value.model_dump(mode="json")
        case list():
            return [_plain(entry) for entry in value]
        case dict():
            return {key: _plain(entry) for key, entry in value.items()}
    return value


def _says(settings: Spec, name: str) -> bool:
    return bool(getattr(settings, name) != settings.default_of(name))


def _found(kept: Mapping[str, Any], model: type[Spec]) -> dict[str, Any]:
    found = {}
    for name, pin in pins_of(model).items():
        place = kept.get(pin.group, {}) if pin.group else kept
        key = pin.name or name
        if key in place:
            value = place[key]
            # Amounts are stored as text, because JSON numbers are not exact.
            is_amount = Money in get_args(model.model_fields[name].annotation)
            found[name] = Decimal(value) if is_amount and value is not None else value
    return found
