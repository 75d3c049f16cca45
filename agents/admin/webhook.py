"""Webhooks in the admin: make one, see its secret once, try it, change it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from agents.actions.redeliver import ping_webhook
from agents.actions.webhooks import remove_webhook, save_webhook
from agents.admin.signing import SigningAdmin
from agents.delivery.webhooks import EVENTS
from agents.models import WebhookEndpoint
from heartbit_site.admin.actions import DialogForm, dialog
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.columns import Column, pill, two_lines
from heartbit_site.admin.saved_by_verb import VerbForm


class WebhookForm(VerbForm[WebhookEndpoint]):
    """Address of a webhook, and its events."""

    events = forms.MultipleChoiceField(
        choices=[(name, f"{name}: {meaning}") for name, meaning in EVENTS.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        required=False,
        help_text="Events that are posted to the URL. None: only results that are delivered to it.",
    )

    class Meta:
        model = WebhookEndpoint
        fields = ("workspace", "name", "url", "events", "enabled")


@admin.register(WebhookEndpoint)
class WebhookAdmin(SigningAdmin[WebhookEndpoint]):
    """Addresses that events of runs are posted to. A secret is shown once, when it is created."""

    audit_name = "webhook"
    remove = staticmethod(remove_webhook)
    form = WebhookForm
    list_display = ("what", "workspace", "subscribed_events", "state", "created_by")
    list_filter = ("workspace",)
    search_fields = ("name", "url")
    actions_detail = ("ping", "rotate")

    readonly_fields = ("state", "created_by", "created_at", "both_until")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return the fields; the webhook's state comes last."""
        first = ("workspace", "name", "url", "events", "enabled")
        return (*first, *self.readonly_fields) if obj else first

    what = Column[WebhookEndpoint]("webhook", lambda row: two_lines(row.name, row.url))
    subscribed_events = Column[WebhookEndpoint]("events", lambda row: ", ".join(row.events))

    def state(self, endpoint: WebhookEndpoint) -> SafeString:
        """Return the state, with the reason why a webhook is disabled."""
        if endpoint.enabled:
            return pill("Enabled", tone="success")
        return format_html("{} {}", pill("Disabled", tone="warning"), endpoint.disabled_reason)

    def save_secret(self, request: HttpRequest, row: WebhookEndpoint, form: Any) -> str | None:
        """Save with ``save_webhook``."""
        return save_webhook(row, by=actor_of(request))

    @dialog(
        "Send test event",
        "An event of type ping goes out within seconds. Its deliveries show the result.",
        icon="send",
        permission="rotate",
    )
    def ping(self, request: HttpRequest, row: WebhookEndpoint, form: DialogForm) -> None:
        """Send a message that is about nothing."""
        ping_webhook(row, by=actor_of(request))
        messages.success(request, "It goes out within seconds: see its deliveries.")
