"""`heartbit deliveries`."""

from __future__ import annotations

from typing import Final

import typer

from heartbit_site.cli.backend.chosen import backend
from heartbit_site.cli.options import common
from heartbit_site.cli.options.run_names import SHORT_ID
from heartbit_site.cli.terminal.output import TEXT_WIDTH, one_line
from heartbit_site.cli.terminal.table import Table, print_list
from heartbit_site.contract.webhooks import LIST_DELIVERIES, ResultDeliveryOut, Status

RUN = typer.Option("", metavar="RUN", help="Show deliveries of this run: its id, or how it begins.")
STATUS = typer.Option(None, help="In this state.")


def deliveries(*, run: str = RUN, status: Status | None = STATUS, last: int = common.LAST) -> int:
    """List deliveries of results and their errors."""
    page = backend(reads_only=True).call(
        LIST_DELIVERIES, run=run or None, status=status, limit=last
    )
    none = "No such deliveries." if run or status else "No run delivers its result yet."
    return print_list(page, DELIVERIES, none=none)


DELIVERIES: Final = Table[ResultDeliveryOut](
    {
        "DELIVERY": lambda row: row.id,
        "RUN": lambda row: row.run_id[:SHORT_ID],
        "STATUS": lambda row: row.status,
        "ATTEMPTS": lambda row: row.attempts,
        "WHERE": lambda row: one_line(row.recipient, TEXT_WIDTH),
        "PROBLEM": lambda row: one_line(row.error, TEXT_WIDTH),
    },
    {"delivered": "green", "failed": "red", "pending": "cyan"},
)
