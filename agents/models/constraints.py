"""Constraints that several models have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from collections.abc import Sequence


def one_of(column: str, values: Sequence[str], *, name: str) -> models.CheckConstraint:
    """Constrain a column to the values of its choices."""
    return models.CheckConstraint(name=name, condition=Q((f"{column}__in", list(values))))
