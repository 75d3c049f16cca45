"""Rows that one person alone may read."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class PrivateRow(models.Model):
    """A row that may be private, with all that belongs to it (docs/decisions/0073).

    Attributes:
        private_to: The person who alone reads it; null: all members of the workspace do.
    """

    private_to = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        # It keeps the number of a deleted account, so that no one else can read the row.
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        db_index=False,
    )

    class Meta:
        abstract = True

    @property
    def private(self) -> bool:
        """True if one person alone reads the row."""
        return self.private_to_id is not None
