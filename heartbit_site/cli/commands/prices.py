"""`heartbit prices`: prices of models that the workspace sets itself."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.backend import chosen
from heartbit_site.cli.options import common
from heartbit_site.cli.options.shared import RemoteCommand
from heartbit_site.cli.options.targets import no_such
from heartbit_site.cli.terminal.output import one_line
from heartbit_site.cli.terminal.table import Table, print_facts, print_view
from heartbit_site.contract import prices as contract
from heartbit_site.contract.prices import PriceOut

MODEL = common.argument("MODEL", "The model as provider:model.")
INPUT = common.option("--input USD", "US dollars per million tokens read.", ...)
OUTPUT = common.option("--output USD", "US dollars per million tokens written.", ...)
CACHED = common.option(
    "--cached-input USD", "US dollars per million tokens read from a cache; else as input.", None
)

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_prices() -> int:
    """List the prices that the workspace has set."""
    return chosen.print_all(contract.LIST_PRICES, PRICES)


@app.command(name="set", cls=RemoteCommand)
def set_price(
    model: str = MODEL,
    *,
    input_usd: str = INPUT,
    output_usd: str = OUTPUT,
    cached_input_usd: str | None = CACHED,
) -> int:
    """Set the price of a model, in place of the published one."""
    given = {"model": model, "input_usd": input_usd, "output_usd": output_usd}
    given |= {} if cached_input_usd is None else {"cached_input_usd": cached_input_usd}
    made = chosen.backend().call(contract.SET_PRICE, given)
    facts = [
        ("input", made.input_usd),
        ("output", made.output_usd),
        ("cached input", made.cached_input_usd or ""),
    ]
    return print_view(made, lambda: print_facts(made.model, facts))


@app.command(cls=RemoteCommand)
def remove(model: str = MODEL, *, yes: bool = common.YES) -> int:
    """Remove a price; the published one applies again, if there is one."""
    server = chosen.backend()
    rows = server.every(contract.LIST_PRICES).prices
    found = [row for row in rows if model in (row.model, str(row.id))]
    if not found:
        raise no_such("price", model, (row.model for row in rows))
    chosen.confirm_removal(one_line(found[0].model), yes=yes)
    server.call(contract.REMOVE_PRICE, price_id=found[0].id)
    return chosen.print_removed(found[0].id, found[0].model, stays="published prices count again")


PRICES: Final = Table.of(
    PriceOut,
    "MODEL=model:60 INPUT=input_usd OUTPUT=output_usd CACHED=cached_input_usd",
    none="No prices yet: `heartbit prices set MODEL --input USD --output USD` sets one.",
)
