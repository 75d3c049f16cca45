"""Create and change single agents.

Usage::

    created = create_agent(workspace, spec, by=actor).row
    changed = change_agent(workspace, "writer", spec, {"max_turns"}, by=actor, version=7).row

A call writes, publishes and records the whole change, or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from hashlib import sha256
from typing import Any

from django.db import transaction

from agents.actions.check_agent import check_agreement, check_credentials_of_skills
from agents.actions.fleet import set_agent_state
from agents.actions.publish_agent import make_current, publish_leaders
from agents.actions.write_agents import (
    Written,
    assemble,
    bind,
    check_kind,
    columns_of,
    update,
    write_agents,
)
from agents.definitions.kinds import find_kind, kind_of
from agents.definitions.spec import DefinitionSpec, with_default_mode
from agents.definitions.validation_messages import InvalidSettingError
from agents.errors import IdempotencyMismatchError
from agents.models import Agent
from agents.reads.agents import find_editable, grantable, spec_of
from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConflictError, Remedy
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.base.rights import require
from tools.definitions.catalogue import catalogue

# In an agent's first entry in the audit.
_KEY, _DIGEST = "idempotency_key", "request_sha256"


class AgentExistsError(ConflictError):
    """The workspace already has an agent of that name."""

    field = "name"


class VersionConflictError(ConflictError):
    """The agent's current version is not the one that the change was made for."""


@transaction.atomic
def create_agent(
    workspace: Workspace, spec: DefinitionSpec, *, by: Actor, key: str | None = None
) -> Written:
    """Create an agent and publish it.

    Args:
        workspace: The agent's workspace.
        spec: Its settings.
        by: The actor, for the audit.
        key: Idempotency key: repeated with the same name, it returns the agent that it created.

    Raises:
        AgentExistsError: The workspace already has an agent of that name.
        IdempotencyMismatchError: The key created the agent with other settings.
        InvalidSettingError: The settings are not consistent with each other or with other agents.
        ConfigurationError: The agent cannot be published.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    locked = lock_workspace(workspace)
    there = Agent.objects.filter(workspace=locked, origin="", name=spec.name).first()
    if there is not None and key is not None and _was_made_with(there, key, spec):
        return Written(there)
    if there is not None:
        raise AgentExistsError(
            f"The workspace already has an agent named {spec.name}: change it, or take another "
            "name."
        )
    known = grantable(locked.pk, catalogue(locked.pk))
    kind = kind_of(spec)
    settled = with_default_mode(spec, spec.model_fields_set)
    table = _table(settled, kind.spec.model_fields)
    check_agreement(table, names_of(locked), tools=known, kind=kind.name)
    written = write_agents(locked, [settled], origin="", author=by.name)[spec.name]
    written.record(by, **({_KEY: key, _DIGEST: _digest(spec)} if key is not None else {}))
    return written


@transaction.atomic
def change_agent(
    workspace: Workspace,
    name: str,
    changed: DefinitionSpec,
    settings: Collection[str],
    *,
    by: Actor,
    version: int | None = None,
    saved_at: str | None = None,
    note: str = "",
) -> Written:
    """Change some settings of an agent; publish it and its orchestrators.

    Args:
        workspace: The agent's workspace.
        name: The agent's name.
        changed: The new values; settings not named in ``settings`` are ignored.
        settings: Names of the settings to change. Tools and team are replaced as a whole.
        by: The actor, for the audit.
        version: The current version that is expected; None: any.
        saved_at: Its ``updated_at`` in ISO 8601, when its settings were read; None: any.
        note: What the author says of the new version.

    Raises:
        AgentNotFoundError: There is no such agent.
        VersionConflictError: Its current version is another one, or it was saved since.
        InvalidSettingError: As for ``create_agent``; also for a new name or another kind: an agent
            keeps its own.
        UnknownKindError: This process does not know the agent's kind.
        ConfigurationError: As for ``create_agent``.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    locked = lock_workspace(workspace)
    found = find_editable(locked, name)
    row = Agent.objects.select_for_update(no_key=True).get(pk=found.pk)
    _check_version(row, version, saved_at)
    find_kind(row.kind, row.name)
    check_kind(row, changed)
    if "name" in settings and changed.name != row.name:
        raise InvalidSettingError(
            ("name",),
            f"is {changed.name}, but an agent keeps its name, {row.name}: make another one",
        )
    beside = {"name": row.name, "approval_timeout_seconds": row.approval_timeout_seconds}
    table = {**beside, **_table(changed, settings)}
    known = grantable(locked.pk, catalogue(locked.pk))
    check_agreement(table, names_of(locked), tools=known, kind=row.kind)
    columns = columns_of(changed)
    own = {name: value for name, value in columns.pop("definition").items() if name in settings}
    columns = {name: value for name, value in columns.items() if name in settings}
    columns["definition"] = {**row.definition, **own}
    enabled = columns.pop("enabled", row.enabled)
    changes = update(row, columns)
    if "tools" in settings:
        changes |= bind(row, changed.tools)
    if "team" in settings:
        members = Agent.objects.filter(workspace=locked, origin="", name__in=changed.team)
        changes |= assemble(row, list(members))
    if "skills" in changes:
        check_credentials_of_skills(row, spec_of(row).tools)
    if changes:
        row.save(update_fields=["updated_at"])  # also for tools and team, which are other rows
    made = make_current(row, author=by.name, note=note)
    if enabled != row.enabled:
        changes["enabled"] = audit.changed(row.enabled, enabled)
        set_agent_state(row, "start" if enabled else "stop")  # also notifies the workers
    written = Written(row, changes=changes, made=made, led=publish_leaders([row], by=by))
    written.record(by, **({"note": note} if note and made else {}))
    return written


def lock_workspace(workspace: Workspace) -> Workspace:
    """Lock the workspace for one writer at a time, as an import does."""
    return Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)


def _was_made_with(agent: Agent, key: str, spec: DefinitionSpec) -> bool:
    entries = AuditEntry.objects.filter(target=f"agent:{agent.pk}", action="agent.add")
    entry = entries.filter(**{f"details__{_KEY}": key}).first()
    if entry is None:
        return False
    digest = _digest(spec)
    if entry.details.get(_DIGEST, digest) != digest:
        raise IdempotencyMismatchError(
            f"The idempotency key was used for the agent {agent.name} with other settings: send "
            "the same request again, or change the agent."
        )
    return True


def _digest(spec: DefinitionSpec) -> str:
    table = spec.model_dump(mode="json", include=set(kind_of(spec).spec.model_fields))
    return sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def _check_version(row: Agent, wanted: int | None, saved_at: str | None) -> None:
    number = row.current_version.number if row.current_version is not None else None
    if saved_at is not None and row.updated_at.isoformat() != saved_at:
        raise VersionConflictError(f"Someone else has saved the agent {row.name}.")
    if wanted is not None and number != wanted:
        now = f"at version {number}" if number is not None else "not published"
        raise VersionConflictError(
            f"The agent {row.name} is {now}, not at version {wanted}: it was changed meanwhile.",
            remedy=Remedy("agents.show_agent", "shows it", {"name": row.name}),
        )


def _table(spec: DefinitionSpec, settings: Collection[str]) -> dict[str, Any]:
    """Return these settings as a table, without other keys of the request."""
    return spec.model_dump(include=kind_of(spec).spec.model_fields.keys() & set(settings))


def names_of(workspace: Workspace) -> dict[str, None]:
    """Return the names of the agents that a team may be chosen from."""
    agents = Agent.objects.filter(workspace=workspace, origin="").order_by("name")
    return dict.fromkeys(agents.values_list("name", flat=True))
