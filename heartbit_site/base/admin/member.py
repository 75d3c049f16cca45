"""Members of workspaces and their roles, in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from unfold.contrib.filters.admin import ChoicesCheckboxFilter
from unfold.widgets import UnfoldAdminRadioSelectWidget

from heartbit_site.base.actions.remove_member import remove_member
from heartbit_site.base.actions.save_member import LastAdminError, keep_an_admin, save_member
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.themed import (
    DialogForm,
    ModelAdmin,
    ReadOnlyInline,
    line_widget,
    pill,
)
from heartbit_site.base.models import Membership, Role, Workspace

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString

    from heartbit_site.base.admin.themed import Tone

TONES: dict[str, Tone] = {
    Role.VIEWER: "",
    Role.OPERATOR: "info",
    Role.EDITOR: "primary",
    Role.ADMIN: "warning",
}


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

    def prepare_value(self, value: Any) -> Any:
        """Return the user name, also for an id."""
        if isinstance(value, int):
            return User.objects.filter(pk=value).values_list("username", flat=True).first()
        return super().prepare_value(value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare by user name."""
        return str(self.prepare_value(initial) or "") != str(data or "")


class MemberForm(forms.ModelForm[Membership]):
    """A person and a role."""

    user = PersonField(label="Person")

    class Meta:
        model = Membership
        fields = ("workspace", "user", "role")

    def clean(self) -> dict[str, Any] | None:
        """Require that the workspace keeps an admin."""
        cleaned = super().clean()
        role = self.cleaned_data.get("role")
        if self.instance.pk is not None and role and role != Role.ADMIN:
            kept = Membership.objects.select_related("workspace", "user").get(pk=self.instance.pk)
            try:
                keep_an_admin(kept.workspace, kept)
            except LastAdminError as refused:
                self.add_error("role", str(refused))
        return cleaned


class NewMemberForm(DialogForm):
    """Form of a new member, in a dialog on the workspace's page."""

    person = PersonField()
    role = forms.ChoiceField(choices=Role.choices, widget=UnfoldAdminRadioSelectWidget())


class MemberInline(ReadOnlyInline[Membership, Workspace]):
    """The members of a workspace, on its page; each links to the page where the role is changed."""

    model = Membership
    fields = ("person", "may_do", "created_at")
    readonly_fields = fields
    hide_title = True
    verbose_name = "member"
    verbose_name_plural = "members"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """Return the members by name."""
        return super().get_queryset(request).select_related("user").order_by("user__username")

    @admin.display(description="person")
    def person(self, member: Membership) -> SafeString:
        """Return the user name as a link to the page that changes the role."""
        url = reverse("admin:base_membership_change", args=[member.pk])
        return format_html('<a class="hb-link" href="{}">{}</a>', url, member.user.get_username())

    @admin.display(description="role")
    def may_do(self, member: Membership) -> SafeString:
        """Return the role as a label."""
        return role_pill(member)


@admin.register(Membership)
class MemberAdmin(ModelAdmin[Membership]):
    """Members and their roles. Superusers belong to every workspace without being listed."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {
        "view": "runs:read",
        "add": "workspace:manage",
        "change": "workspace:manage",
        "delete": "workspace:manage",
    }
    audit_name = "member"
    verbs_record = frozenset({"add", "change", "delete"})
    form = MemberForm
    list_display = ("person", "workspace", "may_do", "created_at")
    list_display_links = ("person",)
    list_select_related = ("workspace", "user")
    list_filter = ("workspace", ("role", ChoicesCheckboxFilter))
    list_filter_submit = True
    search_fields = ("user__username", "user__email", "workspace__slug")
    search_help_text = "A name, an address, or a workspace's short name."
    actions = ()

    def get_readonly_fields(
        self, request: HttpRequest, obj: Membership | None = None
    ) -> tuple[str, ...]:
        """Fix person and workspace: another person or workspace is another membership."""
        return ("workspace", "user") if obj else ()

    @admin.display(description="person", ordering="user__username")
    def person(self, member: Membership) -> str:
        """Return the user name."""
        return member.user.get_username()

    @admin.display(description="role", ordering="role")
    def may_do(self, member: Membership) -> SafeString:
        """Return the role as a label; the choice explains each role."""
        return role_pill(member)

    def save_model(
        self,
        request: HttpRequest,
        obj: Membership,
        form: Any,
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
        """Save with ``save_member``."""
        obj.pk = save_member(obj.workspace, obj.user, obj.role, by=actor_of(request)).pk

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        """Delete with ``remove_member``."""
        remove_member(obj.workspace, obj.user, by=actor_of(request))

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Confirm and remove; for the last admin, show the reason of the refusal."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except LastAdminError as refused:
            messages.error(request, str(refused))
            return redirect("admin:base_membership_change", object_id)


def role_pill(member: Membership) -> SafeString:
    """Return a member's role as a label."""
    return pill(str(Role(member.role).label).partition(":")[0], tone=TONES[member.role])
