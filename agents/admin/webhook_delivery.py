"""Deliveries of webhook messages: read them, send one again."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin, messages

from agents.actions.redeliver_webhook import redeliver_webhook
from agents.admin.delivery_log import DeliveryLog, is_over
from agents.models import WebhookDelivery
from heartbit_site.base.admin.actions import DialogForm, dialog
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.columns import Column
from heartbit_site.base.admin.themed import json_block

if TYPE_CHECKING:
    from django.http import HttpRequest


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

    posted = Column[WebhookDelivery]("payload", lambda row: json_block(row.payload))

    @dialog(
        "Send again",
        "The same message goes out within seconds, under the same id.",
        icon="replay",
        permission="again",
        offered=is_over,
    )
    def again(self, request: HttpRequest, delivery: WebhookDelivery, form: DialogForm) -> None:
        """Send the delivery again."""
        redeliver_webhook(delivery, by=actor_of(request))
        messages.success(request, "It goes out within seconds.")
