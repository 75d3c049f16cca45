"""Deliveries of run results, and their progress."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.choices import DeliveryKind, DeliveryStatus
from agents.models.attempted import Attempted
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, unique


class Delivery(Attempted):
    """One result for one target; created by ``actions.admit`` when its run starts.

    Attributes:
        run_id: Run whose result is delivered. No foreign key: the log outlives the run.
        position: Index of the target among the run's targets, from 0; prevents duplicates.
        target: A validated ``agents.delivery.targets.Target``.
        recipient_results: Final result per address of an e-mail: empty if the server accepted the
            message, else the reason for the permanent failure.
        released: True once a person approved sending the answer of a run with mixed data.
        message_id: Stable id over all attempts: an e-mail's Message-ID with its angle brackets, or
            the id of a webhook message; empty: not created yet.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    run_id = models.UUIDField("run")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=12, choices=DeliveryKind.choices)
    target = models.JSONField()
    recipient_results = models.JSONField(default=dict, blank=True)
    released = models.BooleanField(default=False, db_default=False)
    message_id = models.CharField(max_length=200, blank=True, default="", db_default="")

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "deliveries"
        constraints = [
            unique("delivery_ordered_once", "run_id", "position"),
            unique("delivery_message_id", "message_id", where=~Q(message_id="")),
            one_of("kind", DeliveryKind.values, name="delivery_kind_known"),
            one_of("status", DeliveryStatus.values, name="delivery_status_known"),
        ]
        indexes = [
            index("delivery_due", "next_at", where=Q(status=DeliveryStatus.PENDING)),
            index("delivery_recent", "workspace", "-id"),
            index("delivery_age", "created_at"),
            index("delivery_ended", "next_at", where=~Q(status=DeliveryStatus.PENDING)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.run_id}"
