"""Webhooks in the admin, and what they share with channels: a secret that signs."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from agents.actions.redeliver import ping_webhook
from agents.actions.webhooks import remove_webhook, rotate_secret, save_webhook
from agents.models import Channel, WebhookEndpoint
from agents.system_events.types import EVENTS
from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, pill, two_lines
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.shell.moment import moment

S = TypeVar("S", Channel, WebhookEndpoint)


class SigningAdmin(VerbAdmin[S]):
    """Rows with a secret that is shown once and can be rotated."""

    needs: ClassVar = rights("workspace:manage", "workspace:manage", rotate="workspace:manage")
    fixed = ("workspace",)
    list_select_related = ("workspace", "created_by")
    actions_detail: tuple[str, ...] = ("rotate",)

    both_until = Column[Any](
        "previous secret valid until", lambda row: moment(row.previous_secret_expires_at)
    )

    def save_secret(self, request: HttpRequest, row: S, form: Any) -> str | None:
        """Save the row with its verb, and return a new row's secret."""
        raise NotImplementedError

    def save_row(self, request: HttpRequest, row: S, form: Any) -> None:
        """Save the row, and show a new row's secret, this once."""
        if row._state.adding:
            row.created_by_id = request.user.pk
        secret = self.save_secret(request, row, form)
        if secret is not None:
            self.show_secret(request, secret)

    @dialog(
        "Rotate secret",
        "For 24 hours the previous secret is valid as well, then the new one alone.",
        icon="key",
        permission="rotate",
    )
    def rotate(self, request: HttpRequest, row: S, form: DialogForm) -> None:
        """Make a new secret, and show it."""
        self.show_secret(request, rotate_secret(row, by=actor_of(request)))

    def show_secret(self, request: HttpRequest, secret: str) -> None:
        """Show a new secret, this once."""
        text = "Copy the secret now, it is not shown again: <code>{}</code>"
        messages.warning(request, format_html(text, secret))


class WebhookForm(VerbForm[WebhookEndpoint]):
    """Address of a webhook, and its events."""

    events = forms.MultipleChoiceField(
        choices=[
            ("*", "*: Every event."),
            *((name, f"{name}: {meaning}") for name, meaning in EVENTS.items()),
        ],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        required=False,
        help_text="Events that are posted to the URL. None: only results that are delivered to it.",
    )

    class Meta:
        model = WebhookEndpoint
        fields = ("workspace", "name", "url", "events", "enabled")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields.get("events")
        if field is not None:  # other patterns come by the API
            known = {"*", *EVENTS}
            others = [one for one in self.instance.events if one not in known]
            field.choices = [*field.choices, *((one, one) for one in others)]


@admin.register(WebhookEndpoint)
class WebhookAdmin(SigningAdmin[WebhookEndpoint]):
    """Addresses that events of runs are posted to. A secret is shown once, when it is created."""

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
