"""Webhook endpoints of a workspace, and the messages sent to them."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import DeliveryStatus
from agents.models.attempted import Attempted
from agents.models.signed_endpoint import SignedEndpoint
from heartbit_site.base.models import Workspace
from heartbit_site.base.models.constraints import index, one_of, unique
from heartbit_site.base.web_url import split_web_url


def check_webhook_url(url: str) -> None:
    """Validate the form of a webhook URL; its host is checked when a message is sent.

    Raises:
        ValidationError: The URL is not valid, or has a password or a fragment.
    """
    parts = split_web_url(url)
    if parts is None or not url.isascii() or " " in url:
        raise ValidationError("Write it like https://host/path.")
    if "@" in parts.netloc or parts.fragment:
        raise ValidationError("Leave out name and password, and what begins with #.")


class WebhookEndpoint(SignedEndpoint):
    """A subscription to events of runs; written through ``actions.webhooks``.

    Attributes:
        events: Patterns of ``agents.system_events.types.EVENTS``.
        events_from: Start of the subscription: the time of creation, or of the last enabling.
        last_polled_at: Time of the last search for events; null: none yet.
        read_from: Time from which the next search reads; null: ``events_from``.
        disabled_reason: Reason why Heartbit disabled the endpoint; empty: Heartbit did not.
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
    events = models.JSONField(default=list, help_text="Types of events to send, or patterns.")
    enabled = models.BooleanField(default=True, help_text="A disabled endpoint receives no events.")
    disabled_reason = models.CharField(max_length=200, blank=True, default="", editable=False)
    events_from = models.DateTimeField(db_default=Now(), editable=False)
    last_polled_at = models.DateTimeField(null=True, editable=False)
    read_from = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-id"]
        verbose_name = "webhook"

    def __str__(self) -> str:
        return self.name


class WebhookDelivery(Attempted):
    """One message to one endpoint, with its delivery status.

    Attributes:
        run_id: Run of the event; null: a quota notice or a ping. No foreign key: the log outlives
            the run.
        event_key: De-duplication key among the run's events of one type.
        message_id: Stable id over all attempts, so that receivers recognise repetitions.
        payload: Body of the request.
    """

    endpoint = models.ForeignKey(
        WebhookEndpoint, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    run_id = models.UUIDField("run", null=True, blank=True)
    event = models.CharField(max_length=40)
    event_key = models.CharField(max_length=80)
    message_id = models.CharField(max_length=40, unique=True)
    payload = models.JSONField()
    response_code = models.PositiveSmallIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name = "webhook delivery"
        verbose_name_plural = "webhook deliveries"
        constraints = [
            unique(
                "webhook_told_once",
                "endpoint",
                "run_id",
                "event",
                "event_key",
                nulls_distinct=False,
            ),
            one_of("status", DeliveryStatus.values, name="webhook_status_known"),
        ]
        indexes = [
            index("webhook_due", "endpoint", "next_at", where=Q(status=DeliveryStatus.PENDING)),
            index("webhook_age", "created_at"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.message_id}"
