"""Validation of a ``provider:model``, regardless of keys."""

from __future__ import annotations

import difflib

from agents.llm.bridge.known import KNOWN
from agents.llm.providers import PROVIDERS
from heartbit_site.base.errors import ConfigurationError

_COMPARED = 60  # characters: comparing takes the product of two lengths
_SHOWN = 200


def check_reference(reference: str) -> None:
    """Raise if the model cannot be known to any worker.

    Raises:
        ConfigurationError: The provider is unknown, or no model is named.
    """
    provider, _, model = reference.strip().partition(":")
    names = (*PROVIDERS, *KNOWN)
    if provider not in names:
        near = difflib.get_close_matches(provider[:_COMPARED].lower(), names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(PROVIDERS)}."
        raise ConfigurationError(
            f'The provider "{provider[:_COMPARED]}" in the model "{reference[:_SHOWN]}" is '
            f"unknown; {hint}"
        )
    if not model.strip():
        raise ConfigurationError(
            f'The model "{reference[:_SHOWN]}" names no model; write provider:model, such as '
            f"{provider}:NAME."
        )
