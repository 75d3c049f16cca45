"""The configuration file of the workspace: its agents, MCP servers and schedules as TOML."""

from __future__ import annotations

from agents.reads.agents import grantable
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.config.apply import import_config
from heartbit_site.config.export import export
from heartbit_site.config.read import parse
from heartbit_site.contract.configuration import ChangesOut, ConfigurationIn, ConfigurationOut
from tools.definitions.catalogue import catalogue


def export_configuration(access: Access) -> ConfigurationOut:
    """Return a file that imports to the agents, MCP servers and schedules that there are."""
    return ConfigurationOut(toml=export(access.workspace))


def import_configuration(access: Access, body: ConfigurationIn) -> ChangesOut:
    """Make the agents, MCP servers and schedules what a file says, or nothing at all.

    What it does not name stays, unless `prune` is set. `dry_run` answers what would change.
    """
    workspace = access.workspace
    tools = grantable(workspace.pk, catalogue(workspace.pk))
    found = parse(body.toml, prompts=body.prompts, tools=tools)
    done = import_config(
        workspace, found, prune=body.prune, dry_run=body.dry_run, by=actor_of(access)
    )
    return ChangesOut.of(done)
