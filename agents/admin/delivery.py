"""Deliveries of results: read them, send one again."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin, messages
from django.urls import reverse
from django.utils.html import format_html_join

from agents.actions.redeliver_result import redeliver_result
from agents.admin.delivery_log import DeliveryLog, is_over
from agents.admin.links import kept_run_link
from agents.choices import DeliveryKind
from agents.delivery.targets import describe_target
from agents.models import Delivery, WebhookDelivery
from heartbit_site.base.admin.actions import DialogForm, dialog
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.columns import Column, link, two_lines
from heartbit_site.base.admin.themed import json_block

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


@admin.register(Delivery)
class DeliveryAdmin(DeliveryLog[Delivery]):
    """Deliveries of results, and their state."""

    workspace_path = "workspace"
    audit_name = "delivery"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read", "again": "runs:write"}
    list_display = ("what", "workspace", "state", "attempts", "error", "created")
    list_select_related = ("workspace",)
    list_filter = ("status", "kind", "workspace")
    search_fields = ("=run_id", "=message_id")
    search_help_text = "The id of a run, or of a message."
    show_full_result_count = False
    fields = (
        *("what", "workspace", "run", "state", "attempts", "error", "addresses", "message"),
        *("created_at", "next_attempt", "delivered_at", "asked"),
    )

    @admin.display(description="recipient")
    def what(self, delivery: Delivery) -> SafeString:
        """Return the recipient and the kind of delivery."""
        return two_lines(delivery.get_kind_display(), describe_target(delivery.target))

    run = Column[Delivery]("run", lambda row: kept_run_link(row.workspace, row.run_id))

    def addresses(self, delivery: Delivery) -> SafeString | str:
        """Return the mail server's answer for each address."""
        said = [(to, why or "taken") for to, why in sorted(delivery.recipient_results.items())]
        return format_html_join("", "<p>{}: {}</p>", said) or "-"

    def message(self, delivery: Delivery) -> SafeString | str:
        """Return the message's id; a webhook's is a link to its delivery."""
        rows = WebhookDelivery.objects.filter(message_id=delivery.message_id)
        row = rows.first() if delivery.kind == DeliveryKind.WEBHOOK else None
        if row is None:
            return delivery.message_id or "-"
        return link(
            reverse("admin:agents_webhookdelivery_change", args=[row.pk]), delivery.message_id
        )

    asked = Column[Delivery]("target", lambda row: json_block(row.target))

    @dialog(
        "Send again",
        "It goes out within seconds, under the same id. A mail that some addresses got already "
        "goes to the others; one that arrived goes to all.",
        icon="replay",
        permission="again",
        offered=is_over,
    )
    def again(self, request: HttpRequest, delivery: Delivery, form: DialogForm) -> None:
        """Send the delivery again."""
        redeliver_result(delivery, by=actor_of(request))
        messages.success(request, "It goes out within seconds.")
