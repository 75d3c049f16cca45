"""Prices of models that a workspace sets, in place of the published ones."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from heartbit_site.base.view import Money, Time, View
from heartbit_site.contract.model import Body, Page
from heartbit_site.contract.operation import READ_RUNS, WRITE_AGENTS, Noun

Amount = Annotated[Decimal, Field(ge=0, lt=1_000_000, decimal_places=6, strict=False)]


class PriceOut(View):
    """Price of a model in US dollars per million tokens."""

    id: int = Field(validation_alias="pk")
    model: str = Field(description="provider:model.")
    input_usd: Money = Field(description="Price of tokens read.")
    output_usd: Money = Field(description="Price of tokens written.")
    cached_input_usd: Money | None = Field(
        description="Price of tokens read from a cache; null: as other input."
    )
    created_at: Time


class PricesOut(Page):
    """The prices that the workspace has set, by model."""

    prices: list[PriceOut]


class PriceIn(Body):
    """A price to set, in US dollars per million tokens."""

    model: str = Field(
        min_length=3, max_length=200, description="provider:model, e.g. compatible:our-model."
    )
    input_usd: Amount = Field(description="Price of tokens read.")
    output_usd: Amount = Field(description="Price of tokens written.")
    cached_input_usd: Amount | None = Field(
        None, description="Price of tokens read from a cache. Null: as other input."
    )


NOUN = Noun("prices", read=READ_RUNS, write=WRITE_AGENTS)

LIST_PRICES = NOUN.get("list_prices", "/prices", PricesOut)
SET_PRICE = NOUN.post("set_price", "/prices", PriceOut, "Set the price of a model", body=PriceIn)
REMOVE_PRICE = NOUN.delete("remove_price", "/prices/{price_id}")
