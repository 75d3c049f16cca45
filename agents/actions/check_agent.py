"""Check an agent's settings and skills, whatever their source.

Stored settings are checked again at each publication, but not against rules about other rows: a
group may have been removed since, or a rule may be newer than the row, and the agent must stay
editable. Such rules apply only to newly given settings (``check_grant``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from django.contrib.auth.models import Group

from agents.definitions import consistency, validation_messages
from agents.definitions.kinds import find_kind
from agents.definitions.server_grants import expand, names_in
from agents.definitions.spec import GROUPS, ToolGrant
from agents.definitions.validation_messages import Complaint, InvalidSettingError, Path
from agents.models import Agent
from agents.reads.agents import grantable, table_of
from agents.reads.reviewers import reviewers_problem
from agents.reads.skills import current_versions, skills_in
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import ToolSpec
from tools.credentials.choice import unmet_need
from tools.definitions.catalogue import catalogue
from tools.texts.near_names import hint


def skill_complaints(
    workspace_id: int, table: Mapping[str, Any], tools: Mapping[str, ToolSpec]
) -> Iterator[Complaint]:
    """Yield complaints about skills that do not exist, or need tools that the agent lacks.

    Args:
        workspace_id: The agent's workspace.
        table: The agent's settings, with its enabled tools.
        tools: Tools that agents of the workspace can be given, by name.
    """
    names: Sequence[str] = table.get("skills", ())
    versions = current_versions(workspace_id, names)
    granted = names_in((grant["name"] for grant in table["tools"]), tools)
    for index, name in enumerate(names):
        version = versions.get(name)
        if version is None:
            known = list(skills_in(workspace_id).values_list("name", flat=True))
            yield ("skills", index), f'names the unknown skill "{name}"; {hint(name, known)}'
            continue
        missing = [tool for tool in version.allowed_tools if tool not in granted]
        unknown = [tool for tool in missing if tool not in tools]
        if unknown:
            yield (
                ("skills", index),
                f'names "{name}", which needs {_listed(unknown)}, and this installation has no '
                "such tool: change allowed-tools of its SKILL.md, or tools of its skill.json",
            )
        elif missing:
            yield (
                ("skills", index),
                f'names "{name}", which needs {_listed(missing)}: give the agent that too',
            )


def check_credentials_of_skills(agent: Agent, grants: Iterable[ToolGrant]) -> None:
    """Check that there are credentials for the tools that newly given skills need.

    Tools that the agent lacks are reported when it is published (``skill_complaints``).

    Raises:
        InvalidSettingError: Names the skill, the tool and the type of credential.
    """
    versions = current_versions(agent.workspace_id, agent.skills)
    if not versions:
        return
    tools = catalogue(agent.workspace_id)
    expanded = {grant.name: grant for grant in expand(grants, tools)}
    for index, name in enumerate(agent.skills):
        for tool in versions[name].allowed_tools if name in versions else ():
            if tool not in tools or tool not in expanded:
                continue
            names = expanded[tool].credentials
            unmet = unmet_need(tools[tool], workspace_id=agent.workspace_id, names=names)
            if unmet:
                message = f'names "{name}", which cannot work yet: {unmet.rstrip(".")}'
                raise InvalidSettingError(("skills", index), message)


def _listed(tools: Sequence[str]) -> str:
    return f"the tool{'s' if tools[1:] else ''} {' and '.join(tools)}"


def check_agent(agent: Agent) -> None:
    """Check an agent's stored settings, except its disabled tools.

    Raises:
        UnknownKindError: This process does not know the agent's kind.
        InvalidSettingError: Names the agent and the setting, in one sentence.
    """
    for path, message in find_complaints(agent):
        subject = f"{agent.kind.capitalize()} {agent.name!r}"
        raise InvalidSettingError(path, message, subject=subject)


def find_complaints(agent: Agent) -> Iterator[Complaint]:
    """Return the complaints about an agent's stored settings, except its disabled tools.

    Raises:
        UnknownKindError: This process does not know the agent's kind.
    """
    kind = find_kind(agent.kind, agent.name)
    table = table_of(agent, disabled_tools=False)
    names = dict.fromkeys(table["team"])
    tools = catalogue(agent.workspace_id)
    return chain(
        validation_messages.check(kind.spec, table, ()),
        consistency.check(
            (), table, names, tools=grantable(agent.workspace_id, tools), kind=kind.name
        ),
        skill_complaints(agent.workspace_id, table, tools),
    )


def check_agreement(
    table: Mapping[str, Any], names: Mapping[str, Any], *, tools: Collection[str], kind: str
) -> None:
    """Check that valid settings are consistent with each other.

    Args:
        table: The settings.
        names: The agents that the team may be chosen from.
        tools: Names of the tools that the agent may be given.
        kind: Name of the kind that has these settings.

    Raises:
        InvalidSettingError: Names the setting, in one sentence.
    """
    for path, message in consistency.check((), table, names, tools=tools, kind=kind):
        raise InvalidSettingError(path, message)


def check_grant(grant: Mapping[str, Any], path: Path) -> None:
    """Check the settings of a tool that are newly given to an agent.

    Args:
        grant: Settings of ``ToolGrant``, with the tool's name.
        path: Place of the tool within the agent's settings.

    Raises:
        InvalidSettingError: One sentence that names the tool and the setting.
    """
    for setting, message in _grant_complaints(grant):
        subject = f"Tool {grant['name']}"
        raise InvalidSettingError(setting, message, subject=subject, subject_path=path)


def _grant_complaints(grant: Mapping[str, Any]) -> Iterator[Complaint]:
    """Yield secrets, and groups of approvers that do not exist: no one could decide the calls."""
    yield from validation_messages.secrets(grant.get("defaults"), ("defaults",))
    for setting in GROUPS:
        yield from _group_complaints(grant.get(setting), (setting,))


def check_groups(definition: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Check the groups that the nodes of a workflow newly ask.

    Args:
        definition: Settings of the workflow that are no columns.
        before: Those that it had; groups named there may have been removed since.

    Raises:
        InvalidSettingError: A group does not exist: no one could answer the question.
    """
    known = {node.get("group") for node in before.get("nodes", ())}
    for index, node in enumerate(definition.get("nodes", ())):
        if node.get("group") not in known:
            for setting, message in _group_complaints(node.get("group"), ("nodes", index, "group")):
                raise InvalidSettingError(setting, message)


def check_reviewers(workspace: Workspace, reviewers: str, subject: str = "") -> None:
    """Check the reviewers that are newly given to an agent, or given to a run.

    Raises:
        InvalidSettingError: No one could review a result.
    """
    if reviewers and (problem := reviewers_problem(workspace, reviewers)):
        raise InvalidSettingError(("review",), problem, subject=subject)


def _group_complaints(name: str | None, path: Path) -> Iterator[Complaint]:
    if name and not Group.objects.filter(name=name).exists():
        yield (
            path,
            f'names the group "{name}", which does not exist: a superuser adds it under Groups',
        )
