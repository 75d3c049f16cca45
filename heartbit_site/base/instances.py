"""Instances of models from rows of plain SQL, which a query set would take longer to ask for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model

M = TypeVar("M", bound=Model)


def instance_of(model: type[M], values: Sequence[Any]) -> M:
    """Return an instance from the values of all columns of its table, in the fields' order."""
    names, conversions = _columns(model)
    converted = list(values)
    for place, convert in conversions:
        converted[place] = convert(converted[place], None, connection)
    found: M = model.from_db(DEFAULT_DB_ALIAS, names, converted)
    return found


@functools.cache
def _columns(model: type[Model]) -> tuple[list[str], list[tuple[int, Callable[..., Any]]]]:
    """Return the attributes of a model's columns, and how the fields convert their values."""
    fields = model._meta.concrete_fields
    conversions = [
        (place, field.from_db_value)
        for place, field in enumerate(fields)
        if hasattr(field, "from_db_value")
    ]
    return [field.attname for field in fields], conversions
