"""Prices of model calls, from published price lists."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from agents.llm.messages import Usage
from agents.llm.providers import PROVIDERS

#: Price of usage of a ``provider:model`` in US dollars; None: it is unknown.
Cost: TypeAlias = Callable[[str, Usage], Decimal | None]
_MILLION: Final = 1_000_000
_PRICE_BOOK_NAMES = {"gemini": "google"}


def cost(model: str, usage: Usage) -> Decimal | None:
    """Return the price of one call in US dollars.

    Args:
        model: ``provider:model``, as in ``ChatModel.name``.
        usage: Tokens of the call.

    Returns:
        None if the price is unknown; 0 only for models on the user's own machine.
    """
    name, _, model_name = model.partition(":")
    provider = PROVIDERS.get(name)
    if provider is None or provider.pricing == "unknown":
        return None
    if provider.pricing == "free":
        # Models with this suffix run on Ollama's own, paid servers.
        return None if model_name.endswith("-cloud") else Decimal(0)
    # By importlib, because an import statement inside a function is banned.
    book = importlib.import_module("genai_prices")
    provider_id = _PRICE_BOOK_NAMES.get(name, name)
    if not _is_listed(provider_id, model_name):
        return None
    tokens = book.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
    try:
        price = book.calc_price(tokens, model_name, provider_id=provider_id).total_price
    except (LookupError, ValueError):
        return None
    return price if isinstance(price, Decimal) else None


@dataclass(frozen=True, slots=True)
class ModelRate:
    """Price of a model that a workspace has set, in US dollars per million tokens.

    Attributes:
        cached_input: Price of tokens read from a cache; None: that of other input.
    """

    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None

    def cost(self, usage: Usage) -> Decimal:
        """Return the price of one call in US dollars."""
        cached = self.input if self.cached_input is None else self.cached_input
        fresh = usage.input_tokens - usage.cached_input_tokens
        total = (
            self.input * fresh + cached * usage.cached_input_tokens
        ) + self.output * usage.output_tokens
        return total / _MILLION


def load_price_book() -> None:
    """Import the price book, a quarter of a second and ten megabytes.

    Call this before the first priced call: if the file could not be opened later, it would fail the
    run of a paid call. A process that calls only models on its own machine does not need it.
    """
    importlib.import_module("genai_prices")
    importlib.import_module("genai_prices.data_snapshot").get_snapshot()


def is_priced(provider: str) -> bool:
    """Return True if the price book has the provider's models."""
    known = PROVIDERS.get(provider)
    return known is not None and known.pricing == "table"


@functools.lru_cache(maxsize=1024)
def _is_listed(provider_id: str, model_name: str) -> bool:
    """Return True if the price book has the model; cached, unlike the book's own misses.

    A search for a missing model scans the whole book at every call.
    """
    snapshot = importlib.import_module("genai_prices.data_snapshot").get_snapshot()
    try:
        snapshot.find_provider_model(model_name, None, provider_id, None)
    except LookupError:
        return False
    return True
