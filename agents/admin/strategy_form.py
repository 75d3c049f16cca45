"""The context strategy as a choice and its numbers instead of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from dataclasses import fields as fields_of
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from agents.context import strategy
from heartbit_site.base.errors import ConfigurationError

TITLES: dict[type[strategy.Strategy], str] = {
    strategy.Unlimited: "Everything, as long as it fits the model",
    strategy.SlidingWindow: "The first message and the newest, up to a size",
    strategy.LastMessages: "The first message and the newest, up to a number",
    strategy.ImportantRecent: "The newest, and of the older ones what matters most",
    strategy.Summarize: "A summary of the older part, and the newest",
}


def _number(label: str, help_text: str, default: int) -> forms.IntegerField:
    """Return the form's field for a number; the chosen strategy says which are required."""
    return forms.IntegerField(
        required=False,
        min_value=1,
        max_value=strategy.MAX_SIZE,
        label=label,
        help_text=help_text,
        initial=default,
        widget=UnfoldAdminIntegerFieldWidget(),
    )


class StrategyForm(forms.Form):
    """The fields of the strategy."""

    context_type = forms.ChoiceField(
        label="Context strategy",
        help_text=(
            "The journal keeps everything; this is what each call to the model contains. Less "
            "costs less and forgets more."
        ),
        choices=[(kind.type, title) for kind, title in TITLES.items()],
        widget=UnfoldAdminSelectWidget(),
    )
    context_max_tokens = _number(
        "Budget", "Tokens of the conversation that are sent at most.", 100_000
    )
    context_count = _number("Messages", "How many are sent; each result of a tool counts.", 40)
    context_threshold = _number("Summarize from", "Tokens from which a summary is written.", 60_000)
    context_recent = _number(
        "Newest first", "How many of the newest exchanges come before older ones.", 8
    )
    context_keep_recent = _number(
        "Newest kept", "How many of the newest exchanges stay as they are.", 6
    )


_PREFIX = "context_"
FIELDS = tuple(StrategyForm.base_fields)
NUMBERS = {
    name.removeprefix(_PREFIX): field
    for name, field in StrategyForm.base_fields.items()
    if name != "context_type"
}


def conditions() -> dict[str, str]:
    """Return for each number the theme's expression over the form's values that shows it."""
    shown: dict[str, str] = {}
    for name in NUMBERS:
        kinds = [kind.type for kind in TITLES if name in _names(kind)]
        shown[f"{_PREFIX}{name}"] = " || ".join(f"context_type == '{kind}'" for kind in kinds)
    return shown


def initial(value: object) -> dict[str, Any]:
    """Return the form's values for a stored strategy; each number has at least its default."""
    values: dict[str, Any] = {f"{_PREFIX}{name}": field.initial for name, field in NUMBERS.items()}
    try:
        kept = strategy.dump(strategy.parse(value))
    except ConfigurationError:  # the row was written by hand: saving the form repairs it
        kept = {"type": strategy.Unlimited.type}
    return values | {f"{_PREFIX}{name}": number for name, number in kept.items()}


def read(cleaned: Mapping[str, Any]) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """Return the strategy of the form's values, or the problems by field."""
    kind = next(
        (kind for kind in TITLES if kind.type == cleaned.get("context_type")), strategy.Unlimited
    )
    given = {name: cleaned.get(f"{_PREFIX}{name}") for name in _names(kind)}
    missing = [
        name for name, default in _names(kind).items() if default is MISSING and given[name] is None
    ]
    if missing:
        return None, {f"{_PREFIX}{name}": "Enter a number from 1." for name in missing}
    numbers = {name: number for name, number in given.items() if number is not None}
    return strategy.dump(strategy.parse({"type": kind.type, **numbers})), {}


def _names(kind: type[strategy.Strategy]) -> dict[str, Any]:
    """Return a strategy's numbers with their defaults."""
    return {field.name: field.default for field in fields_of(kind)}
