"""Webhook endpoints of a workspace, and the messages sent to them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import DeliveryStatus
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.secret_text import SecretTextField

if TYPE_CHECKING:
    from datetime import datetime


def check_webhook_url(url: str) -> None:
    """Validate the form of a webhook URL; its host is checked when a message is sent.

    Raises:
        ValidationError: The URL is not valid, or has a password or a fragment.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise ValidationError("Write it like https://host/path.")
    if "@" in parts.netloc or parts.fragment:
        raise ValidationError("Leave out name and password, and what begins with #.")


class WebhookEndpoint(models.Model):
    """A subscription to events of runs; written through ``actions.save_webhook``.

    Attributes:
        events: Names of ``agents.delivery.webhooks.EVENTS``.
        secret: The encrypted ``whsec_...``; the previous secret signs as well until
            ``previous_secret_expires_at``.
        events_from: Start of the subscription: the time of creation, or of the last enabling.
        last_polled_at: Time of the last search for events; null: none yet.
        disabled_reason: Reason for which Heartbit disabled the endpoint; empty: it did not.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="webhooks")
    name = models.CharField(max_length=100, help_text="Name in lists, e.g. ticket system.")
    url = models.CharField(
        "URL",
        max_length=500,
        validators=[check_webhook_url],
        help_text=(
            "URL for POST requests. A host that is not public has to be in HEARTBIT_HTTP_ALLOWLIST."
        ),
    )
    events = models.JSONField(default=list, help_text="Types of events to send.")
    secret = SecretTextField()
    previous_secret = SecretTextField()
    previous_secret_expires_at = models.DateTimeField(null=True, editable=False)
    enabled = models.BooleanField(default=True, help_text="A disabled endpoint receives no events.")
    disabled_reason = models.CharField(max_length=200, blank=True, default="", editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    events_from = models.DateTimeField(db_default=Now(), editable=False)
    last_polled_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]
        verbose_name = "webhook"

    def __str__(self) -> str:
        return self.name


class WebhookDelivery(models.Model):
    """One message to one endpoint, with its delivery status.

    Attributes:
        run_id: Run of the event; null: a quota notice or a ping. No foreign key: the log outlives
            the run.
        event_key: De-duplication key among the run's events of one type.
        message_id: Stable id over all attempts, so that receivers recognise repetitions.
        payload: Body of the request.
        error: Reason for the last failure, as a sentence.
        next_at: Time of the next attempt. A sender moves it ahead before it sends.
    """

    endpoint = models.ForeignKey(
        WebhookEndpoint, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    run_id = models.UUIDField("run", null=True, blank=True)
    event = models.CharField(max_length=40)
    event_key = models.CharField(max_length=80)
    message_id = models.CharField(max_length=40, unique=True)
    payload = models.JSONField()
    status = models.CharField(
        max_length=12,
        choices=DeliveryStatus.choices,
        default=DeliveryStatus.PENDING,
        db_default=DeliveryStatus.PENDING,
    )
    attempts = models.PositiveIntegerField(default=0, db_default=0)
    response_code = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True, default="", db_default="")
    next_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now())
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name = "webhook delivery"
        verbose_name_plural = "webhook deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint", "run_id", "event", "event_key"], name="webhook_told_once"
            ),
            models.CheckConstraint(
                name="webhook_status_known", condition=Q(status__in=DeliveryStatus.values)
            ),
        ]
        indexes = [
            models.Index(
                fields=["endpoint", "next_at"],
                condition=Q(status=DeliveryStatus.PENDING),
                name="webhook_due",
            ),
            models.Index(fields=["created_at"], name="webhook_age"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.message_id}"

    @property
    def due_at(self) -> datetime | None:
        """Time of the next attempt; None: there is none."""
        return self.next_at if self.status == DeliveryStatus.PENDING else None
