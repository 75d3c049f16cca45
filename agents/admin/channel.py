"""Channels in the admin: where messages come in, and who answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html

from agents.actions.remove_channel import remove_channel
from agents.actions.rotate_channel_secret import rotate_channel_secret
from agents.actions.save_channel import save_channel
from agents.admin import formatting
from agents.admin.channel_form import ChannelForm, conditions
from agents.models import Channel
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.themed import DialogForm, ModelAdmin, dialog, pill

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

ROTATE = dialog(
    DialogForm,
    label="New secret",
    explanation="For 24 hours messages may be signed with either secret, then with the new one.",
    submit="Make it",
    icon="key",
    permissions=["rotate"],
)


@admin.register(Channel)
class ChannelAdmin(ModelAdmin[Channel]):
    """Ways in. Their secrets are shown when they are made, only then."""

    workspace_path = "workspace"
    audit_name = "channel"
    verbs_record = frozenset({"add", "change", "delete"})
    needs: ClassVar[dict[str, str]] = dict.fromkeys(
        ("view", "add", "change", "delete", "rotate"), "workspace:manage"
    )
    form = ChannelForm
    warn_unsaved_form = True
    list_display = ("what", "workspace", "answers", "state", "created_by")
    list_display_links = ("what",)
    list_filter = ("workspace", "kind")
    list_select_related = ("workspace", "created_by")
    search_fields = ("name", "agent")
    sortable_by = ()
    actions = ()
    actions_detail = ("rotate",)
    conditional_fields = conditions()

    def get_readonly_fields(
        self, request: HttpRequest, obj: Channel | None = None
    ) -> tuple[str, ...]:
        """A channel stays in its workspace, and what it is."""
        known = ("state", "url", "both_until", "looked", "created_by", "created_at")
        return ("workspace", *known) if obj else ()

    def get_fieldsets(self, request: HttpRequest, obj: Channel | None = None) -> Any:
        """Of one that is there, only what its kind has; what is known of it comes last."""
        kind = obj.kind if obj is not None else None
        first = (("workspace", "name"), ("kind", "agent"), ("enabled", "approve"), "hourly_limit")
        mail = (
            *("from_whom", "reply", "imap_host", ("imap_port", "imap_security")),
            *(("imap_user", "password"), "imap_folder"),
        )
        found: list[Any] = [(None, {"fields": first})]
        if kind in (None, "webhook"):
            found.append(("Webhook", {"fields": ("mapping",)}))
        if kind in (None, "email"):
            found.append(("E-mail", {"fields": mail}))
        found.append(("Answers", {"fields": ("deliver",)}))
        if obj is not None:
            looked = ("looked",) if obj.imap_host else ()
            known = ("state", "url", "both_until", *looked, "created_by", "created_at")
            found.append(("State", {"fields": known}))
        return found

    @admin.display(description="channel")
    def what(self, channel: Channel) -> SafeString:
        """Its name, and what comes in."""
        source = channel.imap_user if channel.imap_host else channel.get_kind_display()
        return format_html(
            '<span class="hb-two"><b>{}</b><span class="hb-clip">{}</span></span>',
            *(channel.name, source),
        )

    @admin.display(description="answered by")
    def answers(self, channel: Channel) -> str:
        """Its agent."""
        return channel.agent

    @admin.display(description="state")
    def state(self, channel: Channel) -> SafeString:
        """Whether it takes anything, and what is wrong with it."""
        if not channel.enabled:
            return pill("Disabled", tone="warning")
        if channel.last_error:
            return format_html("{} {}", pill("Trouble", tone="danger"), channel.last_error)
        return pill("Enabled", tone="success")

    @admin.display(description="URL")
    def url(self, channel: Channel) -> SafeString:
        """Where messages are posted to."""
        return format_html("<code>{}{}</code>", settings.HEARTBIT_PUBLIC_URL, channel.path)

    @admin.display(description="former secret is good until")
    def both_until(self, channel: Channel) -> str:
        """While a secret is being exchanged."""
        return (
            formatting.format_datetime(channel.previous_secret_expires_at)
            if channel.previous_secret_expires_at
            else "-"
        )

    @admin.display(description="mailbox read")
    def looked(self, channel: Channel) -> str:
        """When it was last looked into."""
        return (
            formatting.format_datetime(channel.last_polled_at)
            if channel.last_polled_at
            else "Not yet"
        )

    def has_rotate_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Who may manage the workspace."""
        return self.may(request, "rotate", object_id)

    def save_model(
        self,
        request: HttpRequest,
        obj: Channel,
        form: Any,
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
        """See ``save_channel``; a new one's secret is shown, this once."""
        if not change:
            obj.created_by_id = request.user.pk
        password = form.cleaned_data.get("password") or None
        secret = save_channel(obj, password=password, by=actor_of(request))
        if secret is not None:
            _show(request, secret)

    def delete_model(self, request: HttpRequest, obj: Channel) -> None:
        """See ``remove_channel``."""
        remove_channel(obj, by=actor_of(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Its log goes with it, which nobody may delete by itself."""
        found, counts, _, protected = super().get_deleted_objects(objs, request)
        return found, counts, set(), protected

    @ROTATE
    def rotate(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Make a new secret, and show it."""
        channel = self.get_object(request, object_id)
        if channel is not None:
            _show(request, rotate_channel_secret(channel, by=actor_of(request)))
        return HttpResponse(headers={"HX-Refresh": "true"})


def _show(request: HttpRequest, secret: str) -> None:
    text = "Copy the secret now, it is not shown again: <code>{}</code>"
    messages.warning(request, format_html(text, secret))
