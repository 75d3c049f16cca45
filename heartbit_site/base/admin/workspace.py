"""Workspaces in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse

from heartbit_site.base.actions.save_member import save_member
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.member import MemberInline, NewMemberForm
from heartbit_site.base.admin.themed import ModelAdmin, ask_again, dialog
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence


@admin.register(Workspace)
class WorkspaceAdmin(ModelAdmin[Workspace]):
    """Workspaces: name, default model, tier, retention, members.

    The short name is fixed, because commands and URLs hold it. Only superusers change the tier.
    """

    workspace_path = "pk"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read", "change": "workspace:manage"}
    inlines = (MemberInline,)
    list_display = ("name", "slug", "tier", "retention_days", "created_at")
    list_select_related = ("tier",)
    search_fields = ("name", "slug")
    fields = ("name", "slug", "default_model", "tier", "retention_days")
    prepopulated_fields = {"slug": ("name",)}

    actions_detail = ("add_member",)

    def has_invite_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Allow those who manage the workspace."""
        return self.may(request, "change", object_id)

    @dialog(
        NewMemberForm,
        label="Add member",
        explanation="A person with an account of this installation.",
        submit="Add",
        icon="person_add",
        permissions=["invite"],
    )
    def add_member(self, request: HttpRequest, form: NewMemberForm, object_id: str) -> HttpResponse:
        """Add a member, and reload the page."""
        workspace = self.get_object(request, object_id)
        if workspace is not None:
            person, role = form.cleaned_data["person"], form.cleaned_data["role"]
            try:
                save_member(workspace, person, role, by=actor_of(request))
            except HeartbitError as error:
                form.add_error("role", str(error))
                return ask_again(request, form, submit="Add")
            messages.success(request, f"{person.get_username()} belongs to {workspace} now.")
        return HttpResponse(headers={"HX-Refresh": "true"})

    def get_readonly_fields(
        self, request: HttpRequest, obj: Workspace | None = None
    ) -> tuple[str, ...]:
        """Return the slug of an existing workspace, and the tier for everyone but superusers."""
        fixed = ("slug",) if obj else ()
        return fixed if request.user.is_superuser else (*fixed, "tier")

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: Workspace | None = None
    ) -> dict[str, Sequence[str]]:
        """Derive the short name from the name of a new workspace."""
        return {} if obj else {"slug": ("name",)}
