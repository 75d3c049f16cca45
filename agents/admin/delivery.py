"""Deliveries of results and of webhook messages: read them, send one again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agents.actions.redeliver import redeliver_result, redeliver_webhook
from agents.admin.formatting import DELIVERY_TONES, kept_run_link
from agents.choices import DeliveryKind, DeliveryStatus
from agents.delivery.targets import describe_target, with_webhook_names
from agents.models import Delivery, WebhookDelivery
from agents.querysets import of_readable_run
from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, link, pill, two_lines
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.admin.themed import ReadOnlyAdmin, json_block
from heartbit_site.shell.moment import moment

D = TypeVar("D", Delivery, WebhookDelivery)


class DeliveryLog(ReadOnlyAdmin[D]):
    """Deliveries with their state; one that is not pending can be sent again.

    Attributes:
        redeliver: The verb that sends one again.
    """

    sortable_by = ()
    actions_detail = ("again",)
    redeliver: ClassVar[Callable[..., object]]

    state = Column[Any](
        "state", lambda row: pill(row.get_status_display(), tone=DELIVERY_TONES[row.status])
    )
    created = Column[Any]("created", lambda row: moment(row.created_at))
    next_attempt = Column[Any]("next attempt", lambda row: moment(row.due_at))

    @dialog(
        "Send again",
        "It goes out within seconds, under the same id. A mail that some addresses got already "
        "goes to the others; one that arrived goes to all.",
        icon="replay",
        permission="again",
        offered=lambda row: row.status != DeliveryStatus.PENDING,
    )
    def again(self, request: HttpRequest, delivery: D, form: DialogForm) -> None:
        """Send the delivery again."""
        type(self).redeliver(delivery, by=actor_of(request))
        messages.success(request, "It goes out within seconds.")


@admin.register(Delivery)
class DeliveryAdmin(DeliveryLog[Delivery]):
    """Deliveries of results, and their state."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read", "again": "runs:write"}
    redeliver = staticmethod(redeliver_result)
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

    what = Column[Any](
        "recipient",
        lambda row: two_lines(
            row.get_kind_display(), describe_target(row.target, row.webhook_name)
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the deliveries with the names of their webhooks; of no private run of others."""
        rows = with_webhook_names(super().get_queryset(request))
        if permissions_for(request).everywhere:
            return rows
        return rows.filter(of_readable_run(request.user.pk))

    run = Column[Delivery]("run", lambda row: kept_run_link(row.workspace, row.run_id))
    asked = Column[Delivery]("target", lambda row: json_block(row.target))

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


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(DeliveryLog[WebhookDelivery]):
    """Messages of the last 30 days, and how far they have got."""

    workspace_path = "endpoint__workspace"
    needs: ClassVar[dict[str, str]] = dict.fromkeys(("view", "again"), "workspace:manage")
    redeliver = staticmethod(redeliver_webhook)
    list_display = ("event", "endpoint", "state", "attempts", "response_code", "error", "created")
    list_select_related = ("endpoint",)
    list_filter = ("status", "event")
    search_fields = ("message_id", "=run_id", "endpoint__name")
    fields = (
        *("endpoint", "event", "run_id", "message_id", "state", "attempts", "response_code"),
        *("error", "created_at", "next_attempt", "delivered_at", "posted"),
    )

    posted = Column[WebhookDelivery]("payload", lambda row: json_block(row.payload))
