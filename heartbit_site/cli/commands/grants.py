"""`heartbit grants`: what people have allowed once and for all."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.options import common
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract import grants as contract

TABLE: Final = Table.of(
    contract.GrantOut,
    "GRANT=id TOOL AGENT IN BY=granted_by:40 SINCE=created_at UNTIL",
    none="Nothing is always allowed: `heartbit approve` gives such permissions.",
    IN=lambda one: one.run_id or "every run",
    UNTIL=lambda one: one.expires_at or ("the run ends" if one.run_id else "it is revoked"),
)

app = common.group()
GRANTS: Final = Verbs(app, "grant", contract.LIST_GRANTS, TABLE)

GRANTS.list("List the standing permissions for tools, the newest first.")
GRANTS.do(
    "revoke",
    contract.REVOKE_GRANT,
    "End a standing permission: the tool's calls need approval again.",
    said="Calls of {tool} by {agent} need approval again.",
)
