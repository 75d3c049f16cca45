"""Check an agent's settings, whichever way they come in.

Stored settings are checked again whenever they are published, but not by rules about the world
outside: a group may have been removed since, or a rule be newer than the row, and the agent must
still be editable. Those concern what is newly given (``check_grant``).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Group

from agents.definitions import consistency, validation_messages
from agents.definitions.spec import GROUPS, AgentSpec
from agents.definitions.validation_messages import InvalidSettingError
from agents.reads.agent_settings import table_of
from tools.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from agents.definitions.validation_messages import Complaint, Path
    from agents.models import Agent


def check_agent(agent: Agent) -> None:
    """Check what an agent's rows hold, but for the tools that are disabled.

    Raises:
        InvalidSettingError: One sentence that names the agent and the setting.
    """
    table = table_of(agent, disabled_tools=False)
    names = dict.fromkeys(table["team"])
    tools = catalogue(agent.workspace_id)
    found = chain(
        validation_messages.check(AgentSpec, table, ()),
        consistency.check((), table, names, tools=tools),
    )
    for path, message in found:
        raise InvalidSettingError(path, message, subject=f"Agent {agent.name!r}")


def check_agreement(
    table: Mapping[str, Any], names: Mapping[str, Any], *, tools: Collection[str]
) -> None:
    """Check that settings, each of which is valid, fit together.

    Args:
        table: Of ``AgentSpec``.
        names: The agents that its team is chosen from.
        tools: The names of the tools that it can be given.

    Raises:
        InvalidSettingError: One sentence that names the setting.
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
