"""What webhooks were told, to be read, and sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse

from agents.actions.redeliver_webhook import redeliver_webhook
from agents.admin import formatting
from agents.choices import DeliveryStatus
from agents.models import WebhookDelivery
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.themed import DialogForm, ReadOnlyAdmin, dialog, json_block
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
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
class WebhookDeliveryAdmin(ReadOnlyAdmin[WebhookDelivery]):
    """Messages of the last 30 days, and how far they have got."""

    workspace_path = "endpoint__workspace"
    audit_name = "webhook"
    needs: ClassVar[dict[str, str]] = dict.fromkeys(("view", "again"), "workspace:manage")
    list_display = ("event", "endpoint", "state", "attempts", "response_code", "error", "made")
    list_select_related = ("endpoint",)
    list_filter = ("status", "event")
    search_fields = ("message_id", "=run_id", "endpoint__name")
    sortable_by = ()
    actions_detail = ("again",)
    fields = (
        *("endpoint", "event", "run_id", "message_id", "state", "attempts", "response_code"),
        *("error", "created_at", "next_try", "delivered_at", "posted"),
    )
    readonly_fields = fields

    @admin.display(description="state")
    def state(self, delivery: WebhookDelivery) -> SafeString:
        """How far it has got."""
        return formatting.delivery_pill(delivery.status)

    @admin.display(description="made")
    def made(self, delivery: WebhookDelivery) -> str:
        """When."""
        return formatting.clock(delivery.created_at)

    @admin.display(description="next attempt")
    def next_try(self, delivery: WebhookDelivery) -> str:
        """When, if there is one."""
        pending = delivery.status == DeliveryStatus.PENDING
        return formatting.format_datetime(delivery.next_at) if pending else "-"

    @admin.display(description="posted")
    def posted(self, delivery: WebhookDelivery) -> SafeString:
        """The message."""
        return json_block(delivery.payload)

    def has_again_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Who may manage the workspace."""
        return self.may(request, "again", object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """What is on its way is not sent again."""
        offered: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        delivery = self.get_object(request, object_id)
        over = delivery is not None and delivery.status != DeliveryStatus.PENDING
        return offered if over else []

    @AGAIN
    def again(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Send it once more."""
        delivery = self.get_object(request, object_id)
        if delivery is not None:
            try:
                redeliver_webhook(delivery, by=actor_of(request))
                messages.success(request, "It goes out within seconds.")
            except HeartbitError as error:
                messages.error(request, str(error))
        return HttpResponse(headers={"HX-Refresh": "true"})
