"""Tables of other packages in the theme: accounts, failed logins and Beat's schedules."""

from __future__ import annotations

from typing import Any, Final

from axes import admin as axes
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from django_celery_beat import admin as beat  # registers the classes that are replaced below
from django_celery_beat import models
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from heartbit_site.admin.themed import ModelAdmin, TabularInline
from heartbit_site.base.people import User

for replaced in (Group, AccessAttempt, AccessLog, AccessFailureLog):
    admin.site.unregister(replaced)


#: First parts of the names of apps whose permissions open nothing: roles do.
_OURS: Final = frozenset(
    {
        *("django", "unfold", "heartbit_site", "agents", "memory", "tools", "scheduling"),
        *("channels", "csp", "axes", "django_celery_beat", "allauth"),
    }
)


_DIRECT: Final = "user_permissions"


def tools_ask_for_permissions() -> bool:
    """Return True if a tool may require one of Django's permissions (``requires``).

    Either one does, or the project has tables of its own.
    """
    names = {config.name.partition(".")[0] for config in apps.get_app_configs()}
    bindings = apps.get_model("agents.ToolBinding")._default_manager
    return bool(names - _OURS) or bindings.exclude(requires="").exists()


class ThemedUserAdmin(UserAdmin[User], ModelAdmin[User]):
    """Accounts of people."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Leave Django's permissions out where no tool asks for one."""
        found = super().get_fieldsets(request, obj)
        if tools_ask_for_permissions():
            return found
        return [
            (name, {**options, "fields": [one for one in options["fields"] if one != _DIRECT]})
            for name, options in found
        ]


if settings.AUTH_USER_MODEL == "auth.User":
    admin.site.unregister(User)
if not admin.site.is_registered(User):  # a project may have a page for accounts of its own
    admin.site.register(User, ThemedUserAdmin)


@admin.register(Group)
class ThemedGroupAdmin(GroupAdmin, ModelAdmin[Group]):
    """Groups of people who decide calls and review results; rights follow from roles."""

    def get_exclude(self, request: HttpRequest, obj: Group | None = None) -> Any:
        """Leave Django's permissions out where no tool asks for one."""
        return None if tools_ask_for_permissions() else ("permissions",)


@admin.register(AccessAttempt)
class AttemptAdmin(axes.AccessAttemptAdmin, ModelAdmin[AccessAttempt]):  # type: ignore[misc]
    """Failed logins by user name; deleting a row ends the pause of that name."""

    ordering = ("-attempt_time",)
    actions = ()
    fieldsets = ((None, {"fields": axes.AccessAttemptAdmin.list_display[:6]}),)  # no form's content


class TaskSelect(UnfoldAdminSelectWidget, beat.TaskSelectWidget):  # type: ignore[misc]
    """The list of registered tasks, with the theme's template."""


class PeriodicTaskForm(beat.PeriodicTaskForm):  # type: ignore[misc]
    """Beat's form with the theme's widgets."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["task"].widget = UnfoldAdminTextInputWidget()
        self.fields["regtask"].widget = TaskSelect()


class TasksInline(beat.PeriodicTaskInline, TabularInline[Any, Any]):  # type: ignore[misc]
    """The tasks of a schedule."""


for model in (
    *(models.PeriodicTask, models.IntervalSchedule, models.CrontabSchedule),
    *(models.SolarSchedule, models.ClockedSchedule),
):
    own: dict[str, Any] = {"inlines": (TasksInline,)}
    if model is models.PeriodicTask:
        # Beat's own template has an inline script, which the content security policy forbids; the
        # script shows a crontab in words, as the form's read-only field does.
        own = {"form": PeriodicTaskForm, "change_form_template": None}
    plain: Any = type(admin.site._registry[model])
    themed: Any = type(plain.__name__, (plain, ModelAdmin), own)
    admin.site.unregister(model)
    admin.site.register(model, themed)
