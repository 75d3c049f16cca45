"""Prices of models that a workspace sets, in place of the published ones."""

from __future__ import annotations

from agents.actions.model_prices import ModelPriceNotFoundError, save_price
from agents.actions.model_prices import remove_price as remove
from agents.models import ModelPrice
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import Remedy
from heartbit_site.contract import prices as contract
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import find_row, list_page, row_id


def list_prices(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> contract.PricesOut:
    """Return the prices that the workspace has set, by model; others are the published ones."""
    rows = ModelPrice.objects.filter(workspace=access.workspace)
    return list_page(contract.PricesOut, rows, "model", cursor, limit)


def set_price(access: Access, body: contract.PriceIn) -> contract.PriceOut:
    """Set the price of a model, or replace it; runs that are active use it within seconds."""
    row = ModelPrice(workspace=access.workspace, **body.model_dump())
    return contract.PriceOut.of(save_price(row, by=actor_of(access)))


def remove_price(access: Access, price_id: Word) -> None:
    """Delete a price; the published one counts again, if there is one."""
    rows = ModelPrice.objects.filter(workspace=access.workspace, pk=row_id(price_id))
    missing = ModelPriceNotFoundError(
        "The workspace has no such price.", remedy=Remedy("prices.list_prices")
    )
    remove(find_row(rows.select_related("workspace"), missing), by=actor_of(access))
