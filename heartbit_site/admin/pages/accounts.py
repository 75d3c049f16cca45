"""Users, groups and failed logins, in the theme. Only superusers see them."""

from __future__ import annotations

from axes import admin as axes
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from heartbit_site.admin.themed import ModelAdmin

for model in (User, Group, AccessAttempt, AccessLog, AccessFailureLog):
    admin.site.unregister(model)


@admin.register(User)
class ThemedUserAdmin(UserAdmin[User], ModelAdmin[User]):
    """Accounts of people."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class ThemedGroupAdmin(GroupAdmin, ModelAdmin[Group]):
    """Named sets of Django's permissions; Heartbit's own rights follow from roles instead."""


@admin.register(AccessAttempt)
class AttemptAdmin(axes.AccessAttemptAdmin, ModelAdmin[AccessAttempt]):  # type: ignore[misc]
    """Failed logins by user name; deleting a row ends the pause of that name."""

    ordering = ("-attempt_time",)
    actions = ()
    fieldsets = ((None, {"fields": axes.AccessAttemptAdmin.list_display[:6]}),)  # no form's content
