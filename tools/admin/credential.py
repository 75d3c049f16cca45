"""Credentials in the admin; their secrets are never shown."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.safestring import SafeString

from heartbit_site.admin.actions import DialogForm, dialog
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.columns import Column, pill, two_lines
from heartbit_site.admin.saved_by_verb import VerbAdmin
from heartbit_site.base import amounts
from heartbit_site.base.credentials import CredentialType, credential_types, entered_types
from tools.actions.credentials import check_credential, remove_credential, save_credential
from tools.admin.credential_form import PREFIX, CredentialForm, form_for, given
from tools.credentials.values import label_of
from tools.models import CatalogueTool, Credential

KIND: Final = "kind"  # the parameter of the address of the form that adds one
HEALTH: Final = ("health", "finding", "checked")


@admin.register(Credential)
class CredentialAdmin(VerbAdmin[Credential]):
    """Credentials of a workspace, or of one person in it."""

    workspace_path = "workspace"
    needs: ClassVar = {
        "view": "workspace:manage",
        **dict.fromkeys(("add", "change", "delete", "check"), "workspace:manage"),
    }
    audit_name = "credential"
    form = CredentialForm
    list_display = ("what", "workspace", "person", "place", "health", "checked", "enabled")
    list_select_related = ("workspace", "user")
    list_filter = ("workspace", "kind", "enabled")
    search_fields = ("name", "kind")
    sortable_by = ()
    actions = ()
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
        first = (
            ("workspace", "name", "enabled")
            if obj is None
            else ("workspace", "person", "type", "name", "enabled")
        )
        label = kind.label if kind is not None else "Settings"
        fieldsets: list[tuple[str | None, dict[str, Any]]] = [
            (None, {"fields": first}),
            (label, {"fields": own}),
        ]
        return fieldsets if obj is None else [*fieldsets, ("Health", {"fields": HEALTH})]

    def save_row(self, request: HttpRequest, row: Credential, form: Any) -> None:
        """Save the credential; an empty secret keeps the present one."""
        row.kind = row.kind or request.GET.get(KIND, "")
        save_credential(row, given(form), by=actor_of(request))

    def remove_row(self, request: HttpRequest, row: Credential) -> None:
        """Delete the credential."""
        if said := remove_credential(row, by=actor_of(request)):
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

    def health(self, row: Credential) -> SafeString:
        """Return the result of the last check as a label."""
        if row.healthy is None:
            return pill("Not checked")
        if row.healthy:
            return pill("Healthy", tone="success")
        return pill("Unhealthy", tone="danger")

    def checked(self, row: Credential) -> str:
        """Return the time since the last check."""
        if row.checked_at is None:
            return "never"
        return f"{amounts.duration(timezone.now() - row.checked_at)} ago"

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
