"""Advice on an agent's settings: what is allowed, and may still not be meant. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.definitions.server_grants import expand
from heartbit_site.base.toolspec import Label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents.definitions.spec import AgentSpec
    from heartbit_site.base.toolspec import ToolSpec


def advice(spec: AgentSpec, tools: Mapping[str, ToolSpec]) -> Iterator[str]:
    """Yield sentences about the settings of an agent that can be published.

    Args:
        spec: Its settings.
        tools: Tools by name.
    """
    grants = expand(spec.tools, tools)
    given = [tools[grant.name] for grant in grants if grant.enabled and grant.name in tools]
    names = {label: [tool.name for tool in given if label in tool.labels] for label in Label}
    if all(names.values()):
        does = (
            "needs an approval once both were read"
            if spec.mixed_data == "ask"
            else "is allowed (mixed_data), so an outsider's text may steer what leaves"
        )
        yield (
            f"{spec.name} can read private data ({', '.join(names[Label.PRIVATE])}), read text by "
            f"outsiders ({', '.join(names[Label.UNTRUSTED])}) and send data out "
            f"({', '.join(names[Label.OUTBOUND])}): sending {does}."
        )
