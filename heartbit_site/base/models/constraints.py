"""Constraints and indexes in the few forms that the models use."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q


def one_of(
    column: str, values: Sequence[str] | Sequence[int], *, name: str
) -> models.CheckConstraint:
    """Constrain a column to the values of its choices."""
    return models.CheckConstraint(name=name, condition=Q((f"{column}__in", list(values))))


def unique(
    name: str, *columns: str, where: Q | None = None, nulls_distinct: bool | None = None
) -> models.UniqueConstraint:
    """Constrain columns to be unique together, among all rows or some."""
    return models.UniqueConstraint(
        fields=columns, name=name, condition=where, nulls_distinct=nulls_distinct
    )


def index(name: str, *columns: str, where: Q | None = None) -> models.Index:
    """Index columns of all rows, or of some."""
    return models.Index(fields=columns, name=name, condition=where)


def ranges(name: str, column: str) -> BrinIndex:
    """Index a time of rows that are only added: a few bytes for a hundred pages of them."""
    return BrinIndex(fields=[column], name=name, autosummarize=True)


def present(column: str) -> Q:
    """Select the rows that have a value in a column."""
    return Q((f"{column}__isnull", False))
