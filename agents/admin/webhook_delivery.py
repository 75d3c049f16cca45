"""Deliveries of webhook messages: read them, send one again."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin

from agents.actions.redeliver_webhook import redeliver_webhook
from agents.admin.delivery_log import DeliveryLog
from agents.models import WebhookDelivery
from heartbit_site.base.admin.themed import DialogForm, dialog, json_block

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString


AGAIN = dialog(
    DialogForm,
    label="Send again",
    explanation="The same message goes out within seconds, under the same id.",
    submit="Send",
    icon="replay",
    permissions=["again"],
)


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(DeliveryLog[WebhookDelivery]):
    """Messages of the last 30 days, and how far they have got."""

    workspace_path = "endpoint__workspace"
    audit_name = "webhook"
    needs: ClassVar[dict[str, str]] = dict.fromkeys(("view", "again"), "workspace:manage")
    list_display = ("event", "endpoint", "state", "attempts", "response_code", "error", "created")
    list_select_related = ("endpoint",)
    list_filter = ("status", "event")
    search_fields = ("message_id", "=run_id", "endpoint__name")
    fields = (
        *("endpoint", "event", "run_id", "message_id", "state", "attempts", "response_code"),
        *("error", "created_at", "next_attempt", "delivered_at", "posted"),
    )
    readonly_fields = fields

    @admin.display(description="payload")
    def posted(self, delivery: WebhookDelivery) -> SafeString:
        """Return the message as JSON."""
        return json_block(delivery.payload)

    @AGAIN
    def again(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Send the delivery again."""
        return self.redeliver(request, object_id, redeliver_webhook)
