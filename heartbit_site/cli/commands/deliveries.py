"""`heartbit deliveries`."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.backend.chosen import call
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.table import Table, print_list
from heartbit_site.contract.deliveries import LIST_DELIVERIES, ResultDeliveryOut, Status

RUN = common.option("RUN", "Show deliveries of this run: its id, or how it begins.")
STATUS = common.option("", "In this state.", None)


def deliveries(*, run: str = RUN, status: Status | None = STATUS, last: int = common.LAST) -> int:
    """List deliveries of results and their errors."""
    page = call(LIST_DELIVERIES, run=run or None, status=status, limit=last, reads_only=True)
    none = "No such deliveries." if run or status else "No run delivers its result yet."
    return print_list(page, DELIVERIES, none=none)


DELIVERIES: Final = Table.of(
    ResultDeliveryOut,
    "DELIVERY=id RUN=run_id:.18 STATUS ATTEMPTS WHERE=recipient:300 PROBLEM=error:300",
    styles={"delivered": "green", "failed": "red", "pending": "cyan"},
)
