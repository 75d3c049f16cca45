"""Check the skills that an agent is given: they exist, and so does what they need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agents.definitions.server_grants import expand, names_in
from agents.definitions.spec import ToolGrant
from agents.definitions.validation_messages import Complaint, InvalidSettingError
from agents.models import Agent
from agents.reads.skills import current_versions, skills_in
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
                "such tool: change allowed-tools in the skill",
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
