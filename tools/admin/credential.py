"""Credentials in the admin; their secrets are never shown."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from unfold import widgets

from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, ago, health_pill, two_lines
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.base.credentials import (
    CHOICE_LABELS,
    CredentialType,
    credential_types,
    entered_types,
)
from tools.actions.credentials import check_credential, remove_credential, save_credential
from tools.credentials.values import label_of
from tools.models import CatalogueTool, Credential

#: Before the names of a type's fields, which may be those of columns.
PREFIX: Final = "field_"
_SECRET: Final = "Encrypted when saved, and never shown again."  # noqa: S105
_KEPT: Final = "Empty: the present one is kept."


class CredentialForm(VerbForm[Credential]):
    """The fields that all types of credentials have."""

    class Meta:
        model = Credential
        fields = ("workspace", "name", "enabled")


def form_for(kind: type[CredentialType], row: Credential | None) -> type[CredentialForm]:
    """Return the form of a type, to change a credential; None: to add one."""
    if not kind.is_entered:
        return CredentialForm
    schema = kind.model_json_schema()["properties"]
    hidden = kind.secret_fields()
    fields: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        described = schema[name]
        label = name.replace("_", " ").capitalize()
        common = {
            "label": label,
            "help_text": field.description or "",
            "required": field.is_required() and not (row is not None and name in hidden),
            "initial": row.settings.get(name) if row is not None else described.get("default"),
        }
        fields[f"{PREFIX}{name}"] = _field(described, common, secret=name in hidden, row=row)
    names = {name: f"{PREFIX}{name}" for name in kind.model_fields}
    return type("CredentialForm", (CredentialForm,), {**fields, "renamed": names})


def given(form: Any) -> dict[str, object]:
    """Return the entered fields of the type, without the empty fields of a new row."""
    return {
        name.removeprefix(PREFIX): value
        for name, value in form.cleaned_data.items()
        if name.startswith(PREFIX) and value not in ("", None)
    }


def _field(
    described: dict[str, Any], common: dict[str, Any], *, secret: bool, row: Credential | None
) -> forms.Field:
    if secret:
        widget = widgets.UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})
        common |= {"help_text": _SECRET if row is None else _KEPT, "initial": None}
        return forms.CharField(widget=widget, max_length=10_000, strip=False, **common)
    if "enum" in described:
        choices = [(value, CHOICE_LABELS.get(value, value)) for value in described["enum"]]
        return forms.ChoiceField(choices=choices, widget=widgets.UnfoldAdminSelectWidget, **common)
    if described.get("type") == "integer":
        return forms.IntegerField(widget=widgets.UnfoldAdminIntegerFieldWidget, **common)
    return forms.CharField(widget=widgets.UnfoldAdminTextInputWidget, max_length=1_000, **common)


KIND: Final = "kind"  # the parameter of the address of the form that adds one
HEALTH: Final = ("health", "finding", "checked")


@admin.register(Credential)
class CredentialAdmin(VerbAdmin[Credential]):
    """Credentials of a workspace, or of one person in it."""

    needs: ClassVar = rights("workspace:manage", "workspace:manage", check="workspace:manage")
    form = CredentialForm
    list_display = ("what", "workspace", "person", "place", "health", "checked", "enabled")
    list_select_related = ("workspace", "user")
    list_filter = ("workspace", "kind", "enabled")
    search_fields = ("name", "kind")
    actions_row = ("check_now",)
    actions_detail = ("check_now",)
    warn_unsaved_form = True
    fixed = ("workspace",)  # the secrets are bound to it
    readonly_fields = ("type", "person", *HEALTH)

    def add_view(self, request: HttpRequest, *place: Any, **more: Any) -> HttpResponse:
        """Show the types to choose from, or the form of the chosen one."""
        if _asked(request) is not None or not self.has_add_permission(request):
            return super().add_view(request, *place, **more)
        needed: dict[str, list[str]] = {}
        for name, needs in CatalogueTool.objects.values_list("name", "credentials").distinct():
            for kind in {kind for need in needs for kind in need["kinds"]}:
                needed.setdefault(kind, []).append(name)
        context = {
            **self.admin_site.each_context(request),
            "title": "Add a credential",
            "types": [
                {
                    "kind": each.kind,
                    "label": each.label,
                    "about": (each.__doc__ or "").partition("\n")[0],
                    "tools": sorted(needed.get(each.kind, ())),
                }
                for each in entered_types().values()
            ],
        }
        return render(request, "admin/tools/credential/types.html", context)

    def get_form(self, request: HttpRequest, *place: Any, **options: Any) -> Any:
        """Return the form of the credential's type."""
        row = place[0] if place else None
        kind = _kind(request, row)
        if kind is not None:
            options["form"] = form_for(kind, row)
        return super().get_form(request, *place, **options)

    def get_fieldsets(self, request: HttpRequest, obj: Credential | None = None) -> Any:
        """Return the fields; a new credential has no health to show."""
        kind = _kind(request, obj)
        is_entered = kind is not None and kind.is_entered
        own = tuple(f"{PREFIX}{name}" for name in kind.model_fields) if kind and is_entered else ()
        label = kind.label if kind is not None else "Settings"
        first = ("workspace", *(("person", "type") if obj else ()), "name", "enabled")
        shown = [(None, {"fields": first}), (label, {"fields": own})]
        return shown if obj is None else [*shown, ("Health", {"fields": HEALTH})]

    def save_row(self, request: HttpRequest, row: Credential, form: Any) -> None:
        """Save the credential; an empty secret keeps the present one."""
        row.kind = row.kind or request.GET.get(KIND, "")
        save_credential(row, given(form), by=actor_of(request))

    def delete_model(self, request: HttpRequest, obj: Credential) -> None:
        """Delete the credential."""
        if said := remove_credential(obj, by=actor_of(request)):
            messages.info(request, said)

    what = Column[Credential]("credential", lambda row: two_lines(row.name, label_of(row.kind)))
    type = Column[Credential]("type", lambda row: label_of(row.kind))
    person = Column[Credential](
        "for", lambda row: str(row.user) if row.user else "all runs of the workspace"
    )
    place = Column[Credential](
        "server", lambda row: row.settings.get("url") or row.settings.get("host") or ""
    )
    finding = Column[Credential](
        "result", lambda row: row.health_message or "The button *Check now* checks it."
    )
    health = Column[Credential]("health", health_pill)
    checked = Column[Credential]("checked", lambda row: ago(row.checked_at))

    @dialog(
        "Check now",
        "Heartbit logs in with it, or queries its server; nothing is changed there.",
        icon="network_check",
        permission="check",
    )
    def check_now(self, request: HttpRequest, row: Credential, form: DialogForm) -> None:
        """Check, and show the same page again."""
        check_credential(row)
        level = messages.SUCCESS if row.healthy else messages.ERROR
        said = row.health_message or "The server accepts the credential."
        messages.add_message(request, level, f"{row}: {said}")


def _asked(request: HttpRequest) -> type[CredentialType] | None:
    """Return the type that the URL names, or None."""
    return entered_types().get(request.GET.get(KIND, ""))


def _kind(request: HttpRequest, row: Credential | None) -> type[CredentialType] | None:
    return _asked(request) if row is None else credential_types().get(row.kind)
