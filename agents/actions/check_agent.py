"""Check an agent's settings before they are saved or published, whichever way they came in."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Group

from agents.definitions import agreement, complaints
from agents.definitions.complaints import InvalidSettingError
from agents.definitions.rows import table_of
from agents.definitions.spec import AgentSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents.definitions.complaints import Complaint, Path
    from agents.models import Agent


def check_agent(agent: Agent) -> None:
    """Check what an agent's rows hold, but for the tools that are disabled.

    Raises:
        InvalidSettingError: One sentence that names the agent and the setting.
    """
    table = table_of(agent, disabled_tools=False)
    check_table(table, dict.fromkeys(table["team"]), subject=f"Agent {agent.name!r}")


def check_table(table: Mapping[str, Any], names: Mapping[str, Any], *, subject: str = "") -> None:
    """Check an agent's settings.

    Args:
        table: Of ``AgentSpec``.
        names: The agents that its team is chosen from.
        subject: What the sentence begins with.

    Raises:
        InvalidSettingError: One sentence that names the agent and the setting.
    """
    found = chain(
        complaints.check(AgentSpec, table, ()),
        agreement.check((), table, names),
        *(
            group_complaints(("tools", index), grant)
            for index, grant in enumerate(table.get("tools", ()))
        ),
    )
    for path, message in found:
        raise InvalidSettingError(path, message, subject=subject)


def group_complaints(path: Path, grant: Mapping[str, Any]) -> Iterator[Complaint]:
    """Yield the groups of a bound tool that do not exist: no one could decide its calls."""
    for setting in ("approvers", "escalate_group"):
        name = grant.get(setting)
        if name and not Group.objects.filter(name=name).exists():
            yield (
                (*path, setting),
                f'names the group "{name}", which does not exist: a superuser adds it under Groups',
            )
