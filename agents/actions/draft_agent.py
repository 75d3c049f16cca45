"""Keep, publish and discard the draft of an agent, and start the conversations that test it.

A draft is a row of ``Agent`` with the origin ``DRAFT``: it is checked, pinned and run as every
agent is, and nothing that counts or offers the agents of a workspace finds it.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from agents.actions.check_agent import check_agreement, check_credentials_of_skills
from agents.actions.publish_agent import make_current
from agents.actions.save_agent import (
    VersionConflictError,
    change_agent,
    lock_workspace,
    names_of,
)
from agents.actions.write_agents import (
    Written,
    assemble,
    bind,
    check_kind,
    columns_of,
    create_row,
    update,
)
from agents.definitions.kinds import AGENT
from agents.definitions.spec import AgentSpec
from agents.errors import AgentNotFoundError
from agents.models import Agent, AgentDraft, Conversation
from agents.models.draft import DRAFT
from agents.reads.agents import find_editable, grantable, spec_of
from agents.reads.drafts import draft_of, source_of, stamp_of
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConflictError, NotFoundError
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from tools.definitions.catalogue import catalogue


class NoDraftError(ConflictError):
    """The agent has no draft."""


class NoTestError(NotFoundError):
    """The agent's draft has no such test."""


@transaction.atomic
def save_draft(
    workspace: Workspace, name: str, spec: AgentSpec, *, seen: str, by: Actor
) -> AgentDraft | None:
    """Keep settings of an agent without publishing them.

    Args:
        workspace: The agent's workspace.
        name: The agent's name.
        spec: All of its settings.
        seen: Stamp of the settings that were edited (``stamp_of``).
        by: The author.

    Returns:
        The draft; None: the settings are the published ones, and there is no draft.

    Raises:
        AgentNotFoundError: There is no such agent.
        VersionConflictError: Someone else has saved the draft, or published, since.
        InvalidSettingError: The settings are not consistent with each other or with other agents.
        ConfigurationError: The draft could not be published.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    locked = lock_workspace(workspace)
    agent = find_editable(locked, name)
    check_kind(agent, spec)
    draft, source = draft_of(agent), source_of(agent)
    if stamp_of(agent) != seen:
        who = draft.saved_by if draft is not None else "Someone else"
        raise VersionConflictError(f"{who} has saved {agent.name} since you opened it.")
    if spec.model_dump(mode="json") == spec_of(source).model_dump(mode="json"):
        return draft
    known = grantable(locked.pk, catalogue(locked.pk))
    check_agreement(spec.model_dump(), names_of(locked), tools=known, kind=AGENT.name)
    row = _write(locked, spec, by.name)
    base = agent.current_version.number if agent.current_version is not None else None
    values: dict[str, Any] = {"row": row, "saved_by": by.name[:200]}
    draft, _ = AgentDraft.objects.update_or_create(
        agent=agent, defaults=values, create_defaults=values | {"base": base}
    )
    return draft


def _write(workspace: Workspace, spec: AgentSpec, author: str) -> Agent:
    """Write the row of a draft, with tools and team, and pin it as a version for its tests."""
    row = Agent.objects.filter(workspace=workspace, origin=DRAFT, name=spec.name).first()
    if row is None:
        row = create_row(workspace, spec, DRAFT)
    else:
        update(row, columns_of(spec))
    bind(row, spec.tools)
    assemble(row, list(Agent.objects.filter(workspace=workspace, origin="", name__in=spec.team)))
    check_credentials_of_skills(row, spec.tools)
    before = row.current_version_id
    made = make_current(row, author=author)
    # What no test has run is of no use to anyone; a test that starts now may have read the former.
    kept = (made.version.pk, before)
    row.versions.exclude(pk__in=[key for key in kept if key]).filter(runs__isnull=True).delete()
    return row


@transaction.atomic
def publish_draft(workspace: Workspace, name: str, *, note: str, seen: str, by: Actor) -> Written:
    """Publish an agent's draft as its new version, and delete the draft.

    Args:
        workspace: The agent's workspace.
        name: The agent's name.
        note: What the author says of the change.
        seen: Stamp of the draft that was compared (``stamp_of``).
        by: The author.

    Raises:
        AgentNotFoundError: There is no such agent.
        NoDraftError: It has no draft.
        VersionConflictError: The draft or the agent was saved since they were compared.
        InvalidSettingError: As for ``save_draft``.
        ConfigurationError: The draft cannot be published.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    locked = lock_workspace(workspace)
    agent = find_editable(locked, name)
    draft = _draft(agent)
    if stamp_of(agent) != seen:
        raise VersionConflictError(f"{draft.saved_by} has saved {name} since you compared it.")
    spec: Any = spec_of(draft.row)
    settings = AgentSpec.model_fields.keys() - {"name", "enabled"}
    draft.delete()
    return change_agent(locked, name, spec, settings, by=by, note=note.strip())


@transaction.atomic
def discard_draft(workspace: Workspace, name: str, *, by: Actor) -> None:
    """Delete an agent's draft; its test runs stay.

    Raises:
        AgentNotFoundError: There is no such agent.
        NoDraftError: It has no draft.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    agent = find_editable(lock_workspace(workspace), name)
    _draft(agent).delete()
    record_on(by, "agent.discard_draft", agent)


def _draft(agent: Agent) -> AgentDraft:
    draft = draft_of(agent)
    if draft is None:
        raise NoDraftError(f"{agent.name} has no draft: what is shown is published.")
    return draft


@transaction.atomic
def start_test(
    workspace: Workspace, name: str, *, by: Actor, conversation: str = ""
) -> Conversation:
    """Return a conversation whose next run is pinned to what the studio shows now.

    That is the agent's draft, or without one what is published. The run is a test: it is no traffic
    of the agent, and lists mark it.

    Args:
        workspace: The agent's workspace.
        name: The agent's name.
        by: The author.
        conversation: Id of the test to continue; empty: a new one begins.

    Raises:
        AgentNotFoundError: There is no such agent, or it is stopped.
        NoTestError: The conversation is no test of the agent.
        ConfigurationError: The settings cannot be published.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    locked = lock_workspace(workspace)
    agent = find_editable(locked, name)
    if not agent.enabled:
        raise AgentNotFoundError(f"The agent {name} is stopped: start it to test it.")
    if draft_of(agent) is None:
        spec: Any = spec_of(agent)
        _write(locked, spec, by.name)
    tests = Conversation.objects.filter(workspace=locked, agent=name, origin=DRAFT)
    if not conversation:
        return tests.create(workspace=locked, agent=name, origin=DRAFT, title="Test of the draft")
    found = tests.filter(pk=conversation).first() if _is_id(conversation) else None
    if found is None:
        raise NoTestError(f"There is no test {conversation[:60]} of {name}: begin a new one.")
    return found


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
