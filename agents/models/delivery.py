"""Deliveries of run results, and their progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import DeliveryKind, DeliveryStatus
from heartbit_site.base.models import Workspace

if TYPE_CHECKING:
    from datetime import datetime


class Delivery(models.Model):
    """One result for one target; created by ``actions.create_deliveries`` when its run starts.

    Attributes:
        run_id: Run whose result is delivered. No foreign key: the log outlives the run.
        position: Index of the target among the run's targets, from 0; prevents duplicates.
        target: A validated ``agents.delivery.targets.Target``.
        recipient_results: Final result per address of an e-mail: empty if the server accepted the
            message, else the reason for the permanent failure.
        message_id: Stable id over all attempts: an e-mail's Message-ID with its angle brackets, or
            the id of a webhook message; empty: not created yet.
        error: Reason for the last failure, as a sentence.
        next_at: Time of the next attempt after the run has ended. A sender moves it ahead before
            it sends, so that no second sender starts.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    run_id = models.UUIDField("run")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=12, choices=DeliveryKind.choices)
    target = models.JSONField()
    status = models.CharField(
        max_length=12,
        choices=DeliveryStatus.choices,
        default=DeliveryStatus.PENDING,
        db_default=DeliveryStatus.PENDING,
    )
    attempts = models.PositiveIntegerField(default=0, db_default=0)
    recipient_results = models.JSONField(default=dict, blank=True)
    message_id = models.CharField(max_length=200, blank=True, default="", db_default="")
    error = models.CharField(max_length=500, blank=True, default="", db_default="")
    next_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now())
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["run_id", "position"], name="delivery_ordered_once"),
            models.UniqueConstraint(
                fields=["message_id"], condition=~Q(message_id=""), name="delivery_message_id"
            ),
            models.CheckConstraint(
                name="delivery_kind_known", condition=Q(kind__in=DeliveryKind.values)
            ),
            models.CheckConstraint(
                name="delivery_status_known", condition=Q(status__in=DeliveryStatus.values)
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_at"],
                condition=Q(status=DeliveryStatus.PENDING),
                name="delivery_due",
            ),
            models.Index(fields=["workspace", "-id"], name="delivery_recent"),
            models.Index(fields=["created_at"], name="delivery_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.run_id}"

    @property
    def due_at(self) -> datetime | None:
        """Time of the next attempt; None: there is none."""
        return self.next_at if self.status == DeliveryStatus.PENDING else None
