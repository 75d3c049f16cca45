"""Chat apps in the admin: tokens go in and never come out."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminPasswordWidget

from agents.actions.chat_apps import SECRETS, check_chat_app, remove_chat_app, save_chat_app
from agents.models import ChatAccount, ChatApp
from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, pill, two_lines
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm


def _secret(label: str) -> forms.CharField:
    return forms.CharField(
        label=label.capitalize(),
        required=False,
        max_length=500,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text="Encrypted when saved, and never shown again.",
    )


class ChatAppForm(VerbForm[ChatApp]):
    """A chat app; its secrets can be written here and not read."""

    new_bot_token = _secret(SECRETS["bot_token"])
    new_signing_secret = _secret(SECRETS["signing_secret"])
    new_app_token = _secret(SECRETS["app_token"])
    renamed: ClassVar = {name: f"new_{name}" for name in SECRETS}

    class Meta:
        model = ChatApp
        fields = ("workspace", "name", "kind", "enabled", "place", "api_url")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in SECRETS:
            if f"new_{name}" in self.fields and getattr(self.instance, name):
                self.fields[f"new_{name}"].help_text = "Empty: the present one is kept."

    def entered(self) -> dict[str, str]:
        """Return the secrets that were entered, by column."""
        given = {name: self.cleaned_data.get(f"new_{name}", "") for name in SECRETS}
        return {name: text for name, text in given.items() if text}


_KNOWN = ("state", "url", "linked", "created_by", "created_at")


@admin.register(ChatApp)
class ChatAppAdmin(VerbAdmin[ChatApp]):
    """Chat apps, in which members decide what waits for them."""

    needs: ClassVar = rights("workspace:manage", "workspace:manage", check="workspace:manage")
    audit_name = "chat_app"
    unsaid = frozenset(f"new_{name}" for name in SECRETS)
    remove = staticmethod(remove_chat_app)
    form = ChatAppForm
    fixed = ("workspace", "kind")
    list_display = ("what", "workspace", "asks", "state", "created_by")
    list_filter = ("workspace",)
    list_select_related = ("workspace", "created_by")
    search_fields = ("name",)
    actions_detail = ("check_token",)
    readonly_fields = _KNOWN
    warn_unsaved_form = True

    def get_fieldsets(self, request: HttpRequest, obj: ChatApp | None = None) -> Any:
        """Return the fields; the state of an app comes last."""
        first = (("workspace", "name"), ("kind", "enabled"), "place")
        tokens = (*(f"new_{name}" for name in SECRETS), "api_url")
        found: list[Any] = [(None, {"fields": first}), ("Tokens", {"fields": tokens})]
        return [*found, ("State", {"fields": _KNOWN})] if obj is not None else found

    what = Column[ChatApp]("chat app", lambda row: two_lines(row.name, row.get_kind_display()))
    asks = Column[ChatApp]("asks", lambda row: row.place or "linked members")
    url = Column[ChatApp]("request URL", lambda row: format_html("<code>{}</code>", row.url))

    def linked(self, app: ChatApp) -> str:
        """Return the members whose accounts are linked."""
        rows = ChatAccount.objects.filter(app=app).exclude(external_id="")
        names = rows.order_by("user__username").values_list("user__username", flat=True)
        return ", ".join(names) or "no one yet: members link their accounts under Account"

    def state(self, app: ChatApp) -> SafeString:
        """Return the state, with the last error."""
        if not app.enabled:
            return pill("Disabled", tone="warning")
        if app.last_error:
            return format_html("{} {}", pill("Trouble", tone="danger"), app.last_error)
        return pill("Enabled", tone="success")

    def save_row(self, request: HttpRequest, row: ChatApp, form: Any) -> None:
        """Save the app; an empty secret keeps the present one."""
        if row._state.adding:
            row.created_by_id = request.user.pk
        save_chat_app(row, form.entered(), by=actor_of(request))

    @dialog(
        "Check the token",
        "Slack is asked whether it takes the bot token.",
        icon="network_check",
        permission="check",
    )
    def check_token(self, request: HttpRequest, row: ChatApp, form: DialogForm) -> None:
        """Ask the service."""
        messages.success(request, f"It is {check_chat_app(row, by=actor_of(request))}.")
