"""Members of workspaces and their roles, in the admin."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesCheckboxFilter
from unfold.widgets import UnfoldAdminRadioSelectWidget

from heartbit_site.admin.actions import DialogForm
from heartbit_site.admin.audit_mixin import actor_of
from heartbit_site.admin.columns import Column, Tone, link, pill
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.admin.themed import ReadOnlyInline, line_widget
from heartbit_site.base.actions.members import remove_member, save_member
from heartbit_site.base.models import Membership, Role, Workspace

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

    workspace_path = "workspace"
    needs: ClassVar = {
        "view": "runs:read",
        **dict.fromkeys(("add", "change", "delete"), "workspace:manage"),
    }
    audit_name = "member"
    form = MemberForm
    list_display = ("person", "workspace", "may_do", "created_at")
    list_select_related = ("workspace", "user")
    list_filter = ("workspace", ("role", ChoicesCheckboxFilter))
    list_filter_submit = True
    search_fields = ("user__username", "user__email", "workspace__slug")
    search_help_text = "A name, an address, or a workspace's short name."
    actions = ()
    fixed = ("workspace", "user")  # another person or workspace is another membership

    person = Column[Membership](
        "person", lambda row: row.user.get_username(), ordering="user__username"
    )
    may_do = Column[Membership]("role", role_pill, ordering="role")

    def save_row(self, request: HttpRequest, row: Membership, form: Any) -> None:
        """Save with ``save_member``."""
        row.pk = save_member(row.workspace, row.user, row.role, by=actor_of(request)).pk

    def remove_row(self, request: HttpRequest, row: Membership) -> None:
        """Delete with ``remove_member``."""
        remove_member(row.workspace, row.user, by=actor_of(request))
