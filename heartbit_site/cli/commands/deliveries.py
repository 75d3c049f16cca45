"""`heartbit deliveries`: where results went."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.backend.chosen import call
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.table import Table, print_list
from heartbit_site.contract import webhooks as contract

RUN = common.option("RUN", "Show deliveries of this run: its id, or the beginning of it.")
STATUS = common.option("", "List only deliveries in this state.", None)
TABLE: Final = Table.of(
    contract.ResultDeliveryOut,
    "DELIVERY=id RUN=run_id:.18 STATUS ATTEMPTS WHERE=recipient:300 PROBLEM=error:300",
    styles={"delivered": "green", "failed": "red", "pending": "cyan"},
)

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def deliveries(
    *, run: str = RUN, status: contract.Status | None = STATUS, last: int = common.LAST
) -> int:
    """List deliveries of results and their errors."""
    page = call(
        contract.LIST_DELIVERIES, run=run or None, status=status, limit=last, reads_only=True
    )
    none = "No such deliveries." if run or status else "No run delivers its result yet."
    return print_list(page, TABLE, none=none)


Verbs(app, "delivery", contract.LIST_DELIVERIES, TABLE).do(
    "redeliver",
    contract.REDELIVER_RESULT,
    "Deliver a result again, under its id.",
    said="It will be sent to {recipient} again.",
)
