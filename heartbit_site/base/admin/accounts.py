"""Django's own users and groups, in the theme."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from heartbit_site.base.admin.themed import ModelAdmin

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class ThemedUserAdmin(UserAdmin[User], ModelAdmin[User]):
    """People who may use the admin."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class ThemedGroupAdmin(GroupAdmin, ModelAdmin[Group]):
    """Named sets of permissions."""
