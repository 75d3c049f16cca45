"""Pin agents to the tools and skills that are installed now.

A model is offered exactly what was published. An installation's own tools and the shipped skills
change when its operator upgrades it, and the upgrade is the approval: agents with changed ones are
published again at the next start. (Tools of remote servers need a person.)
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from agents.actions.publish_agent import publish_agent
from agents.models import Agent
from agents.reads.skills import skills_in
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash

logger = logging.getLogger(__name__)


def republish_agents() -> list[str]:
    """Publish every agent whose tools or skills changed; return the names of those published."""
    names = []
    for agent in Agent.objects.filter(pk__in={*_with_changed_tools(), *_with_changed_skills()}):
        try:
            publish_agent(agent, by=SYSTEM)
        except ConfigurationError as error:
            logger.warning("not published again: %s", error)
        else:
            names.append(agent.name)
    return names


def _with_changed_tools() -> Iterator[int]:
    installed = {name: definition_hash(spec) for name, spec in catalogue(None).items()}
    published = Agent.objects.filter(current_version__isnull=False)
    for pk, origin, tools in published.values_list(
        "pk", "origin", "current_version__snapshot__tools"
    ):
        # Others are tools of a workspace's MCP servers, whose changes a person takes over.
        own = [tool for tool in tools if tool["name"] in installed]
        changed = any(installed[tool["name"]] != tool["hash"] for tool in own)
        # A program's own tools are known only in its own process, which publishes its agents.
        if changed and not (origin and len(own) < len(tools)):
            yield pk


def _with_changed_skills() -> Iterator[int]:
    rows = Agent.objects.filter(current_version__snapshot__has_key="skills")
    columns = ("pk", "workspace_id", "current_version__snapshot__skills")
    current: dict[int, dict[str, str]] = {}
    for pk, workspace_id, skills in rows.values_list(*columns):
        if workspace_id not in current:
            known = skills_in(workspace_id).values_list("name", "current_version__hash")
            current[workspace_id] = dict(known)
        if any(current[workspace_id].get(skill["name"]) != skill["hash"] for skill in skills):
            yield pk
