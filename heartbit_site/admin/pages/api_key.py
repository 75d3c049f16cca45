"""API keys in the admin: create a key, see it once, revoke it."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, pill, two_lines
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.base.actions.api_keys import create_api_key, revoke_api_keys, usual_expiry
from heartbit_site.base.amounts import counted
from heartbit_site.base.models import ApiKey
from heartbit_site.base.people import User
from heartbit_site.base.scopes import OPERATORS_SCOPE, SCOPES, USUAL_SCOPES
from heartbit_site.shell.moment import moment


class ApiKeyForm(VerbForm[ApiKey]):
    """Scopes and expiry of a new key."""

    scopes = forms.MultipleChoiceField(
        choices=[(name, f"{name}: {meaning}") for name, meaning in SCOPES.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        error_messages={"required": "Choose at least one."},
        help_text="Rights of the key.",
    )

    class Meta:
        model = ApiKey
        fields = ("workspace", "name", "scopes", "expires_at")


@admin.register(ApiKey)
class ApiKeyAdmin(VerbAdmin[ApiKey]):
    """Keys of programs. A key is created and revoked, never changed or deleted."""

    needs: ClassVar = dict.fromkeys(("view", "add", "revoke"), "workspace:manage")
    form = ApiKeyForm
    list_display = ("what", "workspace", "allowed", "state", "used", "user")
    list_select_related = ("workspace", "user")
    list_filter = ("workspace",)
    search_fields = ("name", "prefix")
    actions_row = ("revoke",)
    actions_detail = ("revoke",)
    actions_detail_hide_default = True
    page_fields = (
        *("name", "shown", "workspace", "allowed", "state", "user"),
        *("created_at", "expires_at", "used", "revoked_at"),
    )

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> tuple[str, ...]:
        """Return the fields; an existing key is read only."""
        return self.page_fields if obj else ("workspace", "name", "scopes", "expires_at")

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Return False: the rights of an existing key never change."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Refuse: revoked keys stay as a record of former access."""
        return False

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the defaults: a key may start runs, and expires."""
        usual = {"expires_at": usual_expiry(), "scopes": list(USUAL_SCOPES)}
        return {**usual, **super().get_changeform_initial_data(request)}

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Offer the operators' scope to operators alone."""
        form: Any = super().get_form(request, *args, **kwargs)
        field = form.base_fields.get("scopes")
        if field is not None and not permissions_for(request).everywhere:
            # A deep copy: the field and its widget are those of every form, a superuser's too.
            form.base_fields["scopes"] = field = copy.deepcopy(field)
            field.choices = [one for one in field.choices if one[0] != OPERATORS_SCOPE]
        return form

    what = Column[ApiKey]("key", lambda row: two_lines(row.name, f"hb_{row.prefix}_..."))
    shown = Column[ApiKey]("key", lambda row: f"hb_{row.prefix}_...")
    allowed = Column[ApiKey]("scopes", lambda row: ", ".join(row.scopes))
    used = Column[ApiKey](
        "last used", lambda row: moment(row.last_used_at) if row.last_used_at else "Never"
    )

    def state(self, key: ApiKey) -> SafeString:
        """Return the state: valid, expired or revoked."""
        if key.revoked_at is not None:
            return pill("Revoked", tone="danger")
        return pill("Expired", tone="warning") if key.expired else pill("Valid", tone="success")

    def save_row(self, request: HttpRequest, row: ApiKey, form: Any) -> None:
        """Create the key and show it, this once."""
        made, text = create_api_key(
            row.workspace,
            row.name,
            scopes=row.scopes,
            user=cast("User", request.user),
            expires_at=row.expires_at,
            by=actor_of(request),
        )
        row.pk, row.prefix = made.pk, made.prefix
        messages.warning(
            request,
            format_html("Copy the key now, it is not shown again: <code>{}</code>", text),
        )

    @dialog(
        "Revoke",
        "It and the keys that it made are refused from the next request on. This cannot be undone.",
        icon="key_off",
        permission="revoke",
        variant="DANGER",
        offered=lambda key: key.revoked_at is None,
    )
    def revoke(self, request: HttpRequest, key: ApiKey, form: DialogForm) -> None:
        """Revoke the key, and reload the page."""
        if number := revoke_api_keys([key.pk], by=actor_of(request)):
            others = f", with {counted(number - 1, 'key')} that it made" if number > 1 else ""
            messages.success(request, f"{key} is revoked{others}.")
