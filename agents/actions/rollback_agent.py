"""Roll an agent back to an earlier version: its editable settings and the version of new runs.

Afterwards the form shows the restored settings: saving it unchanged publishes the same version.
If a tool, a team member or a skill differs today, nothing is changed and the refusal names the
differences; ``anyway`` takes today's, and publishes that. Runs keep the versions they began with.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from pydantic_core import to_jsonable_python

from agents.actions.publish_agent import Publication, make_current
from agents.definitions import snapshot
from agents.definitions.definition import BLACKBOARD
from agents.definitions.kinds import RegisteredKind, find_kind
from agents.definitions.snapshot_diff import PartChangeOut, compare
from agents.definitions.spec import GRANT_SETTINGS, ToolGrant
from agents.models import Agent, AgentVersion, ToolBinding
from agents.reads.agents import find_version
from agents.reads.skills import current_versions
from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.rights import require
from tools.definitions.catalogue import catalogue

logger = logging.getLogger(__name__)


class RollbackRefusedError(ConflictError):
    """The version cannot be restored exactly."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """Result of a rollback.

    Attributes:
        version: The current version.
        wanted: The requested number.
        differs: Differences from the requested version, as a sentence; empty: none.
    """

    version: AgentVersion
    wanted: int
    differs: str = ""


@transaction.atomic
def rollback_agent(agent: Agent, number: int, *, by: Actor, anyway: bool = False) -> Rollback:
    """Restore version ``number`` of an agent.

    Args:
        agent: The agent whose fields, tools, team and skills are written.
        number: Number of one of its versions.
        by: The actor, for the log, the audit and, with an account, the admin's history.
        anyway: Use today's tools, team members and skills where they have changed.

    Raises:
        VersionNotFoundError: The agent has no such version.
        RollbackRefusedError: The version cannot be restored exactly, and ``anyway`` is False.
        UnknownKindError: This process does not know the agent's kind.
        ConfigurationError: The restored settings cannot be published.
    """
    require(by, "agents:write", workspace_id=agent.workspace_id)
    locked = Agent.objects.select_for_update(of=("self",)).get(pk=agent.pk)
    wanted = find_version(locked, number)
    kind = find_kind(locked.kind, locked.name)
    _check_readable(wanted, locked, kind)
    gone = [
        *_restore_tools(locked, wanted.snapshot),
        *_restore_team(locked, wanted.snapshot["team"]),
        *_restore_skills(locked, wanted.snapshot),
    ]
    if gone and not anyway:
        raise RollbackRefusedError(_refusal(wanted, " and ".join(gone)))
    _restore_fields(locked, kind, wanted.snapshot)
    made = make_current(locked, author=by.name)
    difference = compare(wanted.snapshot, made.version.snapshot)
    if difference and not anyway:
        changed = [*difference.tools, *difference.team, *difference.skills]
        said = " and ".join(_now(part) for part in changed) or difference.sentence()
        raise RollbackRefusedError(_refusal(wanted, said))
    _record(locked, wanted, made, by=by)
    agent.refresh_from_db()
    return Rollback(made.version, number, difference.sentence())


def _check_readable(wanted: AgentVersion, agent: Agent, kind: RegisteredKind) -> None:
    snapshot.check_format(wanted.pk, agent.name, wanted.snapshot, kind)
    if unknown := snapshot.unknown_settings(wanted.snapshot, kind.spec):
        raise RollbackRefusedError(
            f"A newer Heartbit wrote version {wanted.number} of {agent.name} "
            f"({', '.join(unknown)}): upgrade this one."
        )


def _restore_fields(agent: Agent, kind: RegisteredKind, content: Mapping[str, Any]) -> None:
    """Write the snapshot's settings; settings newer than the snapshot get their defaults."""
    kept = snapshot.settings_of(content, kind.spec)
    for name in snapshot.pins_of(kind.spec):
        value = kept.get(name, kind.spec.default_of(name))
        if name in kind.own:
            agent.definition[name] = to_jsonable_python(value)  # a default may be a model
        else:
            setattr(agent, name, value)
    agent.save()


def _restore_tools(agent: Agent, content: Mapping[str, Any]) -> list[str]:
    """Bind exactly these tools and disable others; return sentences on those not installed."""
    wanted = {tool["name"]: tool for tool in content["tools"]}
    known = catalogue(agent.workspace_id)
    agent.bindings.filter(tool__in=BLACKBOARD).delete()  # disabled ones would be turned off
    off = content.get("turned_off", ())
    ToolBinding.objects.bulk_create(
        ToolBinding(agent=agent, tool=name, enabled=False) for name in off
    )
    agent.bindings.exclude(tool__in=wanted).update(enabled=False)
    for name, tool in wanted.items():
        if name in known:
            grant = ToolGrant.model_construct(name=name, **snapshot.grant_of(tool))
            ToolBinding.objects.update_or_create(
                agent=agent,
                tool=name,
                defaults={setting: getattr(grant, setting) for setting in GRANT_SETTINGS},
            )
        else:
            agent.bindings.filter(tool=name).update(enabled=False)
    return [f"the tool {name} is no longer installed" for name in wanted if name not in known]


def _restore_team(agent: Agent, team: list[dict[str, Any]]) -> list[str]:
    """Set exactly these team members; return sentences on those that are gone."""
    names = [member["name"] for member in team]
    members = Agent.objects.filter(
        workspace_id=agent.workspace_id, origin=agent.origin, name__in=names
    )
    agent.team.set(members)
    there = set(members.values_list("name", flat=True))
    return [f"the agent {name} no longer exists" for name in names if name not in there]


def _restore_skills(agent: Agent, content: Mapping[str, Any]) -> list[str]:
    """Set exactly these skills; return sentences on those that are gone."""
    names = [skill.name for skill in snapshot.pinned_skills(content)]
    there = current_versions(agent.workspace_id, names)
    agent.skills = [name for name in names if name in there]
    return [f"the skill {name} no longer exists" for name in names if name not in there]


def _now(change: PartChangeOut) -> str:
    return f"{change.name} is {'described' if change.definition else 'set up'} differently now"


def _refusal(wanted: AgentVersion, why: str) -> str:
    return (
        f"Version {wanted.number} of {wanted.agent.name} cannot be brought back as it was: {why}. "
        "Roll back anyway to get the rest of it "
        "with today's tools, team and skills, as a new version."
    )


def _record(agent: Agent, wanted: AgentVersion, made: Publication, *, by: Actor) -> None:
    """Record the rollback in the log, the audit and, for an actor with an account, the history."""
    former = f"v{made.before}" if made.before is not None else "unpublished"
    sentence = f"Rolled back from {former} to v{wanted.number}"
    if made.version.pk != wanted.pk:
        sentence += f" as v{made.version.number}"
    logger.info("agent %s (%s): %s by %s", agent.name, agent.workspace_id, sentence, by.name)
    if by.user_id is not None:
        LogEntry.objects.create(
            user_id=by.user_id,
            content_type=ContentType.objects.get_for_model(Agent),
            object_id=str(agent.pk),
            object_repr=str(agent)[:200],
            action_flag=CHANGE,
            change_message=f"{sentence} by {by.name}.",
        )
    audit.record_on(by, "agent.rollback", agent, details={"to": wanted.number, **made.said()})
