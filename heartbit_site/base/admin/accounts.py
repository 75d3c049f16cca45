"""Users, groups and failed logins, in the theme. Only superusers see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import axes.admin  # noqa: F401  registers what is unregistered below
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from heartbit_site.base.admin.themed import ModelAdmin

if TYPE_CHECKING:
    from django.http import HttpRequest

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
class AttemptAdmin(ModelAdmin[AccessAttempt]):
    """Failed logins by user name; deleting a row ends the pause of that name."""

    list_display = ("username", "ip_address", "failures_since_start", "attempt_time", "path_info")
    search_fields = ("username", "ip_address")
    ordering = ("-attempt_time",)
    fields = (
        *("username", "ip_address", "failures_since_start", "attempt_time"),
        *("path_info", "user_agent"),
    )
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: django-axes writes these rows."""
        return False
