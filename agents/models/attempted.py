"""Common columns of messages that are retried until they arrive or are abandoned."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import QuerySet
from django.db.models.functions import Now

from agents.choices import DeliveryStatus


class Attempted(models.Model):
    """A message with its delivery status.

    Attributes:
        error: Reason for the last failure, as a sentence.
        next_at: Time of the next attempt. A sender moves it ahead before it sends, so that no
            second sender starts.
    """

    status = models.CharField(
        max_length=12,
        choices=DeliveryStatus.choices,
        default=DeliveryStatus.PENDING,
        db_default=DeliveryStatus.PENDING,
    )
    attempts = models.PositiveIntegerField(default=0, db_default=0)
    error = models.CharField(max_length=500, blank=True, default="", db_default="")
    next_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now())
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def due_at(self) -> datetime | None:
        """Time of the next attempt; None: no attempt is due."""
        return self.next_at if self.status == DeliveryStatus.PENDING else None

    def claimed(self) -> QuerySet[Self]:
        """Select the row, unless another process has claimed it meanwhile."""
        return type(self)._default_manager.filter(
            pk=self.pk, status=DeliveryStatus.PENDING, attempts=self.attempts
        )
