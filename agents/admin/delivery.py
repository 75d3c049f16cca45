"""What became of the results that were ordered for somebody: to be read, and sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from agents.actions.redeliver_result import redeliver_result
from agents.admin import formatting
from agents.admin.links import kept_run_link
from agents.choices import DeliveryKind, DeliveryStatus
from agents.delivery.targets import describe_target
from agents.models import Delivery, WebhookDelivery
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.themed import DialogForm, ReadOnlyAdmin, dialog, json_block
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

AGAIN = dialog(
    DialogForm,
    label="Send again",
    explanation="It goes out within seconds, under the same id. A mail that some addresses got "
    "already goes to the others; one that arrived goes to all.",
    submit="Send",
    icon="replay",
    permissions=["again"],
)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin[Delivery]):
    """Where results go, and how far they have got."""

    workspace_path = "workspace"
    audit_name = "delivery"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read", "again": "runs:write"}
    list_display = ("what", "workspace", "state", "attempts", "error", "made")
    list_display_links = ("what",)
    list_select_related = ("workspace",)
    list_filter = ("status", "kind", "workspace")
    search_fields = ("=run_id", "=message_id")
    search_help_text = "The id of a run, or of a message."
    sortable_by = ()
    show_full_result_count = False
    actions_detail = ("again",)
    fields = (
        *("what", "workspace", "run", "state", "attempts", "error", "addresses", "message"),
        *("created_at", "next_try", "delivered_at", "asked"),
    )
    readonly_fields = fields

    @admin.display(description="to")
    def what(self, delivery: Delivery) -> SafeString:
        """Whom it goes to, and how."""
        return format_html(
            '<span class="hb-two"><b>{}</b><span class="hb-clip">{}</span></span>',
            *(delivery.get_kind_display(), describe_target(delivery.target)),
        )

    @admin.display(description="run")
    def run(self, delivery: Delivery) -> SafeString | str:
        """Whose result; a link as long as the run is there."""
        return kept_run_link(delivery.workspace, delivery.run_id)

    @admin.display(description="state")
    def state(self, delivery: Delivery) -> SafeString:
        """How far it has got."""
        return formatting.delivery_pill(delivery.status)

    @admin.display(description="made")
    def made(self, delivery: Delivery) -> str:
        """When."""
        return formatting.clock(delivery.created_at)

    @admin.display(description="addresses")
    def addresses(self, delivery: Delivery) -> SafeString | str:
        """What the mail server said to each that is settled."""
        said = [(to, why or "taken") for to, why in sorted(delivery.recipient_results.items())]
        return format_html_join("", "<p>{}: {}</p>", said) or "-"

    @admin.display(description="message")
    def message(self, delivery: Delivery) -> SafeString | str:
        """Its id; a webhook's leads to what the webhook said."""
        if delivery.kind != DeliveryKind.WEBHOOK:
            return delivery.message_id or "-"
        row = WebhookDelivery.objects.filter(message_id=delivery.message_id).first()
        if row is None:
            return delivery.message_id or "-"
        url = reverse("admin:agents_webhookdelivery_change", args=[row.pk])
        return format_html('<a class="hb-link" href="{}">{}</a>', url, delivery.message_id)

    @admin.display(description="next attempt")
    def next_try(self, delivery: Delivery) -> str:
        """When, if there is one."""
        pending = delivery.status == DeliveryStatus.PENDING
        return formatting.format_datetime(delivery.next_at) if pending else "-"

    @admin.display(description="as it was ordered")
    def asked(self, delivery: Delivery) -> SafeString:
        """The target."""
        return json_block(delivery.target)

    def has_again_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Who may start runs."""
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
                redeliver_result(delivery, by=actor_of(request))
                messages.success(request, "It goes out within seconds.")
            except HeartbitError as error:
                messages.error(request, str(error))
        return HttpResponse(headers={"HX-Refresh": "true"})
