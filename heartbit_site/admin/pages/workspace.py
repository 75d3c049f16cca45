"""Workspaces, their members and their tiers in the admin."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesCheckboxFilter
from unfold.widgets import UnfoldAdminRadioSelectWidget

from heartbit_site.admin.actions import DialogForm, actor_of, dialog
from heartbit_site.admin.columns import Column, Tone, link, pill
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.admin.themed import ModelAdmin, ReadOnlyInline, line_widget
from heartbit_site.base.actions.members import remove_member, save_member
from heartbit_site.base.actions.workspaces import save_workspace
from heartbit_site.base.models import Membership, Role, Tier, Workspace
from heartbit_site.base.people import User

TONES: dict[str, Tone] = {
    Role.VIEWER: "",
    Role.OPERATOR: "info",
    Role.EDITOR: "primary",
    Role.ADMIN: "warning",
}


def role_pill(member: Membership) -> SafeString:
    """Return a member's role as a label."""
    return pill(str(Role(member.role).label).partition(":")[0], tone=TONES[member.role])


class PersonField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """An account, written as its name: a list would show one workspace the people of others."""

    widget = forms.TextInput

    def __init__(self, **options: Any) -> None:
        super().__init__(
            User.objects.filter(is_active=True),
            to_field_name="username",
            widget=line_widget(placeholder="user name"),
            help_text="The user name of an account that exists.",
            error_messages={"invalid_choice": "There is no account of that name: check it."},
            **options,
        )


class MemberForm(VerbForm[Membership]):
    """A person and a role."""

    user = PersonField(label="Person")
    renamed: ClassVar = {"": "role"}  # the verb refuses nothing else of a valid form

    class Meta:
        model = Membership
        fields = ("workspace", "user", "role")


class NewMemberForm(DialogForm):
    """Form of a new member, in a dialog on the workspace's page."""

    person = PersonField()
    role = forms.ChoiceField(choices=Role.choices, widget=UnfoldAdminRadioSelectWidget())


class MemberInline(ReadOnlyInline[Membership, Workspace]):
    """The members of a workspace, on its page; each links to the page where the role is changed."""

    model = Membership
    fields = ("person", "may_do", "created_at")
    per_page = None
    verbose_name = "member"
    verbose_name_plural = "members"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """Return the members by name."""
        return super().get_queryset(request).select_related("user").order_by("user__username")

    person = Column[Membership](
        "person",
        lambda row: link(
            reverse("admin:base_membership_change", args=[row.pk]), row.user.get_username()
        ),
    )
    may_do = Column[Membership]("role", role_pill)


@admin.register(Membership)
class MemberAdmin(VerbAdmin[Membership]):
    """Members and their roles. Superusers belong to every workspace without being listed."""

    needs: ClassVar = rights("runs:read", "workspace:manage")
    form = MemberForm
    list_display = ("person", "workspace", "may_do", "created_at")
    list_select_related = ("workspace", "user")
    list_filter = ("workspace", ("role", ChoicesCheckboxFilter))
    list_filter_submit = True
    search_fields = ("user__username", "user__email", "workspace__slug")
    search_help_text = "A name, an address, or a workspace's short name."
    sortable_by = None
    fixed = ("workspace", "user")  # another person or workspace is another membership

    person = Column[Membership](
        "person", lambda row: row.user.get_username(), ordering="user__username"
    )
    may_do = Column[Membership]("role", role_pill, ordering="role")

    def save_row(self, request: HttpRequest, row: Membership, form: Any) -> None:
        """Save with ``save_member``."""
        row.pk = save_member(row.workspace, row.user, row.role, by=actor_of(request)).pk

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        """Delete with ``remove_member``."""
        remove_member(obj.workspace, obj.user, by=actor_of(request))


class WorkspaceForm(VerbForm[Workspace]):
    """A workspace's settings."""

    class Meta:
        model = Workspace
        fields = ("name", "slug", "default_model", "tier", "retention_days", "unknown_prices")


@admin.register(Workspace)
class WorkspaceAdmin(VerbAdmin[Workspace]):
    """Workspaces: name, default model, tier, retention, members.

    The short name is fixed, because commands and URLs hold it. Only superusers change the tier.
    """

    workspace_path = "pk"
    needs: ClassVar = {
        "view": "runs:read",
        **dict.fromkeys(("change", "invite"), "workspace:manage"),
    }
    verbs_record = frozenset({"add", "change"})
    form = WorkspaceForm
    fixed = ("slug",)
    inlines = (MemberInline,)
    list_display = ("name", "slug", "tier", "retention_days", "created_at")
    list_select_related = ("tier",)
    search_fields = ("name", "slug")
    fields = WorkspaceForm.Meta.fields
    sortable_by = None
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

    def save_row(self, request: HttpRequest, row: Workspace, form: Any) -> None:
        """Save with ``save_workspace``."""
        save_workspace(row, by=actor_of(request))

    def get_readonly_fields(self, request: HttpRequest, obj: Workspace | None = None) -> Any:
        """Return the tier too, for everyone but superusers."""
        fixed = super().get_readonly_fields(request, obj)
        return fixed if request.user.is_superuser else (*fixed, "tier")

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Derive the short name from the name of a new workspace."""
        return {} if obj else {"slug": ("name",)}


@admin.register(Tier)
class TierAdmin(ModelAdmin[Tier]):
    """Tiers, which only superusers see, change and assign.

    A change holds at once for all workspaces of the tier. A tier in use cannot be deleted.
    """

    list_display = (
        "name",
        "a_day",
        "a_month",
        "money",
        "at_once",
        "kept",
        "memories",
        "workspaces",
    )
    sortable_by = ()
    warn_unsaved_form = True
    fieldsets = (
        (None, {"fields": ("name",)}),
        ("Runs", {"fields": (("runs_per_day", "runs_at_once"),)}),
        ("Model calls", {"fields": (("tokens_per_month", "usd_per_month"),)}),
        ("Beyond", {"fields": ("warn_at", ("retention_days", "memory_days"))}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tier]:
        """Return the tiers, each with the number of its workspaces."""
        tiers: QuerySet[Tier] = super().get_queryset(request).annotate(used=Count("workspaces"))
        return tiers

    def has_delete_permission(self, request: HttpRequest, obj: Tier | None = None) -> bool:
        """Allow to delete a tier without workspaces, and never several at once."""
        if obj is None or obj.workspaces.exists():
            return False
        return super().has_delete_permission(request, obj)

    a_day = Column[Tier]("runs a day", lambda row: _limit(row.runs_per_day))
    a_month = Column[Tier]("tokens a month", lambda row: _limit(row.tokens_per_month))
    money = Column[Tier]("US dollars a month", lambda row: _limit(row.usd_per_month, "${:,.2f}"))
    at_once = Column[Tier]("concurrent runs", lambda row: _limit(row.runs_at_once))
    kept = Column[Tier]("days kept", lambda row: _limit(row.retention_days))
    memories = Column[Tier]("days of memories", lambda row: _limit(row.memory_days))
    workspaces = Column[Tier]("workspaces", lambda row: int(getattr(row, "used", 0)))


def _limit(value: Any, form: str = "{:,}") -> str:
    return "no limit" if value is None else form.format(value)
