"""Pin agents to the tools that are installed now.

A model is offered exactly the tools that were published. An installation's own tools change when
its operator upgrades it, and the upgrade is the approval: agents with changed tools are published
again at the next start. (Tools of remote servers will need a person.)
"""

from __future__ import annotations

import logging

from agents.actions.publish_agent import publish_agent
from agents.models import Agent
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError
from tools.catalogue import catalogue
from tools.registry import definition_hash

logger = logging.getLogger(__name__)


def republish_agents() -> list[str]:
    """Publish every agent whose tools' definitions changed; return the names of those published."""
    installed = {name: definition_hash(spec) for name, spec in catalogue(None).items()}
    published = Agent.objects.filter(current_version__isnull=False)
    columns = ("pk", "origin", "current_version__snapshot__tools")
    stale = [
        pk
        for pk, origin, tools in published.values_list(*columns)
        if any(installed.get(tool["name"]) != tool["hash"] for tool in tools)
        # A program's own tools are known only in its own process, which publishes its agents.
        and not (origin and any(tool["name"] not in installed for tool in tools))
    ]
    names = []
    for agent in Agent.objects.filter(pk__in=stale):
        try:
            publish_agent(agent, by=SYSTEM)
        except ConfigurationError as error:
            logger.warning("not published again: %s", error)
        else:
            names.append(agent.name)
    return names
