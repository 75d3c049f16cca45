"""Check an agent's settings, whichever way they arrive.

Stored settings are checked again at each publication, but not by rules about other rows: a group
may have been removed since, or a rule be newer than the row, and the agent must stay editable.
Such rules apply only to settings that are newly given (``check_grant``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

from django.contrib.auth.models import Group

from agents.actions.check_skills import skill_complaints
from agents.definitions import consistency, validation_messages
from agents.definitions.kinds import find_kind
from agents.definitions.spec import GROUPS
from agents.definitions.validation_messages import Complaint, InvalidSettingError, Path
from agents.models import Agent
from agents.reads.agent_settings import table_of
from agents.reads.grantable_tools import grantable
from tools.definitions.catalogue import catalogue


def check_agent(agent: Agent) -> None:
    """Check an agent's stored settings, except its disabled tools.

    Raises:
        UnknownKindError: This process does not know the agent's kind.
        InvalidSettingError: Names the agent and the setting, in one sentence.
    """
    kind = find_kind(agent.kind, agent.name)
    table = table_of(agent, disabled_tools=False)
    names = dict.fromkeys(table["team"])
    tools = catalogue(agent.workspace_id)
    found = chain(
        validation_messages.check(kind.spec, table, ()),
        consistency.check((), table, names, tools=grantable(agent.workspace_id, tools)),
        skill_complaints(agent.workspace_id, table, tools),
    )
    for path, message in found:
        raise InvalidSettingError(path, message, subject=f"{kind.name.capitalize()} {agent.name!r}")


def check_agreement(
    table: Mapping[str, Any], names: Mapping[str, Any], *, tools: Collection[str]
) -> None:
    """Check that valid settings are consistent with each other.

    Args:
        table: The settings.
        names: The agents that the team may be chosen from.
        tools: Names of the tools that the agent may be given.

    Raises:
        InvalidSettingError: Names the setting, in one sentence.
    """
    for path, message in consistency.check((), table, names, tools=tools):
        raise InvalidSettingError(path, message)


def check_grant(grant: Mapping[str, Any], path: Path) -> None:
    """Check the settings of a tool that are newly given to an agent.

    Args:
        grant: Of ``ToolGrant``, with the tool's name.
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
        name = grant.get(setting)
        if name and not Group.objects.filter(name=name).exists():
            yield (
                (setting,),
                f'names the group "{name}", which does not exist: a superuser adds it under Groups',
            )
