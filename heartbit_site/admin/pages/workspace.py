"""Workspaces in the admin."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.http import HttpRequest

from heartbit_site.admin.actions import dialog
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.pages.member import MemberInline, NewMemberForm
from heartbit_site.admin.themed import ModelAdmin
from heartbit_site.base.actions.members import save_member
from heartbit_site.base.models import Workspace


@admin.register(Workspace)
class WorkspaceAdmin(ModelAdmin[Workspace]):
    """Workspaces: name, default model, tier, retention, members.

    The short name is fixed, because commands and URLs hold it. Only superusers change the tier.
    """

    workspace_path = "pk"
    needs: ClassVar = {
        "view": "runs:read",
        **dict.fromkeys(("change", "invite"), "workspace:manage"),
    }
    fixed = ("slug",)
    inlines = (MemberInline,)
    list_display = ("name", "slug", "tier", "retention_days", "created_at")
    list_select_related = ("tier",)
    search_fields = ("name", "slug")
    fields = ("name", "slug", "default_model", "tier", "retention_days")
    actions_detail = ("add_member",)

    @dialog(
        "Add member",
        "A person with an account of this installation.",
        icon="person_add",
        permission="invite",
        form=NewMemberForm,
        refused_at="role",
    )
    def add_member(self, request: HttpRequest, workspace: Workspace, form: NewMemberForm) -> None:
        """Add a member, and reload the page."""
        person, role = form.cleaned_data["person"], form.cleaned_data["role"]
        save_member(workspace, person, role, by=actor_of(request))
        messages.success(request, f"{person.get_username()} belongs to {workspace} now.")

    def get_readonly_fields(self, request: HttpRequest, obj: Workspace | None = None) -> Any:
        """Return the tier too, for everyone but superusers."""
        fixed = super().get_readonly_fields(request, obj)
        return fixed if request.user.is_superuser else (*fixed, "tier")

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Derive the short name from the name of a new workspace."""
        return {} if obj else {"slug": ("name",)}
