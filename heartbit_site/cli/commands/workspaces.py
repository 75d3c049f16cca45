"""`heartbit workspaces`: those of the installation, and the settings of one."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.options import common
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract import workspaces as contract

TABLE: Final = Table.of(
    contract.WorkspaceDetailOut,
    "WORKSPACE=slug NAME=name:40 MODEL=default_model:40|default TIER=tier|- "
    "KEPT_DAYS=retention_days|ever UNKNOWN_PRICES=unknown_prices CREATED=created_at",
)

app = common.group()
WORKSPACES: Final = Verbs(app, "workspace", contract.LIST_ALL_WORKSPACES, TABLE)

WORKSPACES.list("List every workspace of the installation.")
WORKSPACES.do("show", contract.SHOW_WORKSPACE, "Show the workspace that commands work in.")
WORKSPACES.do(
    "add",
    contract.CREATE_WORKSPACE,
    "Make an empty workspace; `heartbit members add --workspace SLUG` adds people.",
    first=("slug",),
    said="Created the workspace {slug}: --workspace {slug} works in it.",
)
WORKSPACES.do(
    "change",
    contract.CHANGE_WORKSPACE,
    "Change the given settings of the workspace that commands work in; the others stay.",
)
