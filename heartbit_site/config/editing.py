"""Make and change single agents, as programs do over the API: the admin's form for them.

Usage::

    agent, is_new = create_agent(workspace, section, by=actor)
    agent = change_agent(workspace, "writer", section, by=actor, version=7)

A section is a table of ``[[agents]]`` that pydantic has read. Either all of it is written,
published and in the audit, or none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from agents.actions.check_agent import check_group
from agents.actions.publish_agent import make_current
from agents.actions.publish_leaders import publish_leaders
from agents.actions.switch_agent import switch_agent
from agents.models import Agent
from agents.versions import find_editable
from heartbit_site.base import audit
from heartbit_site.base.errors import ConfigurationError, ConflictError
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.config import agreement, rows
from heartbit_site.config.build import setting_of
from heartbit_site.config.complaints import sentence_of
from heartbit_site.config.definition import FIELDS
from heartbit_site.config.rows import Written

if TYPE_CHECKING:
    from typing import Any

    from heartbit_site.base.audit import Actor
    from heartbit_site.config.sections import AgentSection

_KEY = "idempotency_key"  # in an agent's first entry in the audit


class AgentExistsError(ConflictError):
    """The workspace has an agent of that name already."""


class AgentChangedError(ConflictError):
    """Somebody published another version of the agent than the one that is to be changed."""


@transaction.atomic
def create_agent(
    workspace: Workspace, section: AgentSection, *, by: Actor, key: str | None = None
) -> tuple[Agent, bool]:
    """Make an agent and publish it.

    Args:
        workspace: Where.
        section: What it says counts, and a default where it says nothing.
        by: Who makes it, for the audit.
        key: Sent again with the same name it gives the agent that it made, as that is by now.

    Returns:
        The agent, and whether it is new.

    Raises:
        AgentExistsError: Another request made one of that name.
        ConfigurationError: Its settings do not fit together, or it cannot be published.
    """
    locked = _lock(workspace)
    there = Agent.objects.filter(workspace=locked, origin="", name=section.name).first()
    if there is not None and key is not None and _was_made_with(there, key):
        return there, False
    if there is not None:
        raise _exists(section.name)
    _check(locked, section.name, section)
    setting = setting_of(section, {name: getattr(section, name) for name in FIELDS})
    try:
        with transaction.atomic():
            written = rows.write(locked, [setting], origin="")[section.name]
    except IntegrityError:  # the admin's form, which does not lock the workspace, was quicker
        raise _exists(section.name) from None
    written.record(by, **({_KEY: key} if key is not None else {}))
    return written.row, True


@transaction.atomic
def change_agent(
    workspace: Workspace,
    name: str,
    section: AgentSection,
    *,
    by: Actor,
    version: int | None = None,
) -> Agent:
    """Change what a section says, and nothing else of an agent; publish it and its orchestrators.

    Args:
        workspace: Where.
        name: Whose settings.
        section: Only what was given counts (``model_fields_set``).
        by: Who changes it, for the audit.
        version: What the agent's current version has to be; None: whatever it is.

    Raises:
        AgentNotFoundError: There is no such agent.
        AgentChangedError: Its current version is another one.
        ConfigurationError: As ``create_agent``.
    """
    locked = _lock(workspace)
    found = find_editable(locked, name)
    row = Agent.objects.select_for_update(no_key=True).get(pk=found.pk)
    _check_version(row, version)
    given = section.model_fields_set
    if "name" in given and section.name != row.name:
        raise ConfigurationError(
            f"name is {section.name}, but an agent keeps its name, {row.name}: make another one."
        )
    _check(locked, row.name, section)
    columns = {field: getattr(section, field) for field in FIELDS if field in given}
    enabled = columns.pop("enabled", row.enabled)
    changes = rows.update(row, columns)
    if given & {"tools", "team"}:
        setting = setting_of(section, columns)
        changes |= rows.bind(row, setting.tools) if "tools" in given else {}
        members = Agent.objects.filter(workspace=locked, origin="", name__in=setting.team)
        changes |= rows.assemble(row, list(members)) if "team" in given else {}
    made = make_current(row)
    if enabled != row.enabled:
        changes["enabled"] = audit.changed(row.enabled, enabled)
        switch_agent(row, "start" if enabled else "stop")  # which also tells the workers
    publish_leaders([row], by=by)
    Written(row, changes=changes, made=made).record(by)
    return row


def _lock(workspace: Workspace) -> Workspace:
    """One writer at a time, as for an import."""
    return Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)


def _exists(name: str) -> AgentExistsError:
    return AgentExistsError(
        f"The workspace already has an agent named {name}: change it, or take another name."
    )


def _was_made_with(agent: Agent, key: str) -> bool:
    entries = AuditEntry.objects.filter(target=f"agent:{agent.pk}", action="agent.add")
    return entries.filter(**{f"details__{_KEY}": key}).exists()


def _check_version(row: Agent, wanted: int | None) -> None:
    number = row.current_version.number if row.current_version is not None else None
    if wanted is not None and number != wanted:
        now = f"at version {number}" if number is not None else "not published"
        raise AgentChangedError(
            f"The agent {row.name} is {now}, not at version {wanted}: somebody changed it "
            f"meanwhile. GET /agents/{row.name} shows it."
        )


def _check(workspace: Workspace, name: str, section: AgentSection) -> None:
    """What a table alone does not show: its parts, the other agents, the groups of people."""
    agents = Agent.objects.filter(workspace=workspace, origin="")
    names = dict.fromkeys(agents.order_by("name").values_list("name", flat=True))
    complaint = next(agreement.check_agent(_table(name, section), names), None)
    if complaint is not None:
        raise ConfigurationError(sentence_of(*complaint))
    for index, tool in enumerate(section.tools):
        for field in ("approvers", "escalate_group"):
            try:
                check_group(getattr(tool, field))
            except ConfigurationError as error:
                raise ConfigurationError(f"tools[{index}].{field}: {error}") from None


def _table(name: str, section: AgentSection) -> dict[str, Any]:
    """The section as a file has it, where what is null is left out of a tool's table."""
    table = section.model_dump(include={"tools", "team"}, exclude_unset=True)
    tools = [
        {key: value for key, value in tool.items() if value is not None}
        for tool in table.get("tools", ())
    ]
    return {**table, "name": name, "tools": tools}
