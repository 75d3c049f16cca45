"""Webhooks in the admin: make one, see its secret once, try it, change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from agents.actions.redeliver_webhook import ping_webhook
from agents.actions.remove_webhook import remove_webhook
from agents.actions.rotate_webhook_secret import rotate_webhook_secret
from agents.actions.save_webhook import save_webhook
from agents.admin.signing import SigningAdmin
from agents.delivery.webhooks import EVENTS
from agents.models import WebhookEndpoint
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.themed import DialogForm, dialog, pill
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

ROTATE = dialog(
    DialogForm,
    label="Rotate secret",
    explanation="For 24 hours messages are signed with both secrets, then with the new one alone.",
    submit="Rotate",
    icon="key",
    permissions=["rotate"],
)
PING = dialog(
    DialogForm,
    label="Send test event",
    explanation="An event of type ping goes out within seconds. Its deliveries show the result.",
    submit="Send",
    icon="send",
    permissions=["rotate"],
)


class WebhookForm(forms.ModelForm[WebhookEndpoint]):
    """Address of a webhook, and its events."""

    events = forms.MultipleChoiceField(
        choices=[(name, f"{name}: {meaning}") for name, meaning in EVENTS.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        error_messages={"required": "Choose at least one."},
        help_text="Events that are posted to the URL.",
    )

    class Meta:
        model = WebhookEndpoint
        fields = ("workspace", "name", "url", "events", "enabled")


@admin.register(WebhookEndpoint)
class WebhookAdmin(SigningAdmin[WebhookEndpoint]):
    """Addresses that events of runs are posted to. A secret is shown once, when it is created."""

    audit_name = "webhook"
    form = WebhookForm
    list_display = ("what", "workspace", "subscribed_events", "state", "created_by")
    list_filter = ("workspace",)
    search_fields = ("name", "url")
    actions_detail = ("ping", "rotate")

    def get_readonly_fields(
        self, request: HttpRequest, obj: WebhookEndpoint | None = None
    ) -> tuple[str, ...]:
        """Return the workspace too: a webhook stays in its workspace."""
        return ("workspace", "state", "created_by", "created_at", "both_until") if obj else ()

    def get_fields(
        self, request: HttpRequest, obj: WebhookEndpoint | None = None
    ) -> tuple[str, ...]:
        """Return the fields; the webhook's state comes last."""
        first = ("workspace", "name", "url", "events", "enabled")
        return (*first, "state", "created_by", "created_at", "both_until") if obj else first

    @admin.display(description="webhook")
    def what(self, endpoint: WebhookEndpoint) -> SafeString:
        """Name and address."""
        return format_html(
            '<span class="hb-two"><b>{}</b><span class="hb-clip">{}</span></span>',
            *(endpoint.name, endpoint.url),
        )

    @admin.display(description="events")
    def subscribed_events(self, endpoint: WebhookEndpoint) -> str:
        """Return the events."""
        return ", ".join(endpoint.events)

    @admin.display(description="state")
    def state(self, endpoint: WebhookEndpoint) -> SafeString:
        """Return the state, with the reason why a webhook is disabled."""
        if endpoint.enabled:
            return pill("Enabled", tone="success")
        return format_html("{} {}", pill("Disabled", tone="warning"), endpoint.disabled_reason)

    def save_model(
        self,
        request: HttpRequest,
        obj: WebhookEndpoint,
        form: Any,
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
        """Save with ``save_webhook``, and show a new webhook's secret, this once."""
        if not change:
            obj.created_by_id = request.user.pk
        secret = save_webhook(obj, by=actor_of(request))
        if secret is not None:
            self.show_secret(request, secret)

    def delete_model(self, request: HttpRequest, obj: WebhookEndpoint) -> None:
        """Delete with ``remove_webhook``."""
        remove_webhook(obj, by=actor_of(request))

    @ROTATE
    def rotate(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Make a new secret, and show it."""
        endpoint = self.get_object(request, object_id)
        if endpoint is not None:
            self.show_secret(request, rotate_webhook_secret(endpoint, by=actor_of(request)))
        return HttpResponse(headers={"HX-Refresh": "true"})

    @PING
    def ping(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Send a message that is about nothing."""
        endpoint = self.get_object(request, object_id)
        if endpoint is not None:
            try:
                ping_webhook(endpoint, by=actor_of(request))
                messages.success(request, "It goes out within seconds: see its deliveries.")
            except HeartbitError as error:
                messages.error(request, str(error))
        return HttpResponse(headers={"HX-Refresh": "true"})
