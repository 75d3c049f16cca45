"""The configuration file of the workspace: its agents and other definitions as TOML."""

from __future__ import annotations

from agents.reads.agents import grantable
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.config.apply import import_config
from heartbit_site.config.export import export
from heartbit_site.config.read import parse
from heartbit_site.config.sections import PARTS
from heartbit_site.contract.configuration import ChangesOut, ConfigurationIn, ConfigurationOut
from tools.definitions.catalogue import catalogue


def export_configuration(access: Access) -> ConfigurationOut:
    """Return a file that imports to the definitions that there are.

    Webhooks, channels and budgets are part of it for those who manage the workspace.
    """
    sections = PARTS if access.allows("workspace:manage") else ("knowledge_bases",)
    return ConfigurationOut(toml=export(access.workspace, sections=sections))


def import_configuration(access: Access, body: ConfigurationIn) -> ChangesOut:
    """Make the workspace's definitions what a file says, or change nothing at all.

    What it does not name stays, unless `prune` is set. `dry_run` answers what would change.
    """
    workspace = access.workspace
    tools = grantable(workspace.pk, catalogue(workspace.pk))
    found = parse(body.toml, prompts=body.prompts, tools=tools)
    done = import_config(
        workspace, found, prune=body.prune, dry_run=body.dry_run, by=actor_of(access)
    )
    return ChangesOut.of(done)
