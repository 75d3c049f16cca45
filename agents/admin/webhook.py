"""Webhooks in the admin: make one, see its secret once, try it, change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from agents.actions.redeliver_webhook import ping_webhook
from agents.actions.remove_webhook import remove_webhook
from agents.actions.rotate_webhook_secret import rotate_webhook_secret
from agents.actions.save_webhook import save_webhook
from agents.admin import formatting
from agents.delivery.webhooks import EVENTS
from agents.models import WebhookEndpoint
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.themed import DialogForm, ModelAdmin, dialog, pill
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

ROTATE = dialog(
    DialogForm,
    label="New secret",
    explanation="For 24 hours messages are signed with both secrets, then with the new one alone.",
    submit="Make it",
    icon="key",
    permissions=["rotate"],
)
PING = dialog(
    DialogForm,
    label="Try it",
    explanation="A message of type ping goes out within seconds. Its deliveries show the outcome.",
    submit="Send",
    icon="send",
    permissions=["rotate"],
)


class WebhookForm(forms.ModelForm[WebhookEndpoint]):
    """Where it is, and what it is told of."""

    events = forms.MultipleChoiceField(
        choices=[(name, f"{name}: {meaning}") for name, meaning in EVENTS.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        error_messages={"required": "Choose at least one."},
        help_text="What it is told of.",
    )

    class Meta:
        model = WebhookEndpoint
        fields = ("workspace", "name", "url", "events", "enabled")


@admin.register(WebhookEndpoint)
class WebhookAdmin(ModelAdmin[WebhookEndpoint]):
    """Addresses that are told of runs. Their secrets are shown when they are made, only then."""

    workspace_path = "workspace"
    audit_name = "webhook"
    verbs_record = frozenset({"add", "change", "delete"})
    needs: ClassVar[dict[str, str]] = dict.fromkeys(
        ("view", "add", "change", "delete", "rotate"), "workspace:manage"
    )
    form = WebhookForm
    list_display = ("what", "workspace", "told", "state", "created_by")
    list_display_links = ("what",)
    list_filter = ("workspace",)
    list_select_related = ("workspace", "created_by")
    search_fields = ("name", "url")
    sortable_by = ()
    actions = ()
    actions_detail = ("ping", "rotate")

    def get_readonly_fields(
        self, request: HttpRequest, obj: WebhookEndpoint | None = None
    ) -> tuple[str, ...]:
        """A webhook stays in its workspace."""
        return ("workspace", "state", "created_by", "created_at", "both_until") if obj else ()

    def get_fields(
        self, request: HttpRequest, obj: WebhookEndpoint | None = None
    ) -> tuple[str, ...]:
        """What is known of it comes last."""
        first = ("workspace", "name", "url", "events", "enabled")
        return (*first, "state", "created_by", "created_at", "both_until") if obj else first

    @admin.display(description="webhook")
    def what(self, endpoint: WebhookEndpoint) -> SafeString:
        """Name and address."""
        return format_html(
            '<span class="hb-two"><b>{}</b><span class="hb-clip">{}</span></span>',
            *(endpoint.name, endpoint.url),
        )

    @admin.display(description="told of")
    def told(self, endpoint: WebhookEndpoint) -> str:
        """Its events."""
        return ", ".join(endpoint.events)

    @admin.display(description="state")
    def state(self, endpoint: WebhookEndpoint) -> SafeString:
        """Whether it is told anything, and why not."""
        if endpoint.enabled:
            return pill("Enabled", tone="success")
        return format_html("{} {}", pill("Disabled", tone="warning"), endpoint.disabled_reason)

    @admin.display(description="former secret signs until")
    def both_until(self, endpoint: WebhookEndpoint) -> str:
        """While a secret is being exchanged."""
        return (
            formatting.format_datetime(endpoint.previous_secret_expires_at)
            if endpoint.previous_secret_expires_at
            else "-"
        )

    def has_rotate_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Who may manage the workspace."""
        return self.may(request, "rotate", object_id)

    def save_model(
        self,
        request: HttpRequest,
        obj: WebhookEndpoint,
        form: Any,
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
        """See ``save_webhook``; a new one's secret is shown, this once."""
        if not change:
            obj.created_by_id = request.user.pk
        secret = save_webhook(obj, by=actor_of(request))
        if secret is not None:
            _show(request, secret)

    def delete_model(self, request: HttpRequest, obj: WebhookEndpoint) -> None:
        """See ``remove_webhook``."""
        remove_webhook(obj, by=actor_of(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Its log goes with it, which nobody may delete by itself."""
        found, counts, _, protected = super().get_deleted_objects(objs, request)
        return found, counts, set(), protected

    @ROTATE
    def rotate(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Make a new secret, and show it."""
        endpoint = self.get_object(request, object_id)
        if endpoint is not None:
            _show(request, rotate_webhook_secret(endpoint, by=actor_of(request)))
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


def _show(request: HttpRequest, secret: str) -> None:
    text = "Copy the secret now, it is not shown again: <code>{}</code>"
    messages.warning(request, format_html(text, secret))
