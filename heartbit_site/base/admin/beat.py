"""django-celery-beat's five tables, in the theme. Its own admin classes keep their behaviour."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django_celery_beat import admin as beat
from django_celery_beat import models
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from heartbit_site.base.admin.themed import ModelAdmin, TabularInline

MODELS = (
    models.PeriodicTask,
    models.IntervalSchedule,
    models.CrontabSchedule,
    models.SolarSchedule,
    models.ClockedSchedule,
)
for model in MODELS:
    admin.site.unregister(model)


class TaskSelect(UnfoldAdminSelectWidget, beat.TaskSelectWidget):  # type: ignore[misc]
    """The list of registered tasks, with the theme's template."""


class PeriodicTaskForm(beat.PeriodicTaskForm):  # type: ignore[misc]
    """Beat's form with the theme's widgets."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["task"].widget = UnfoldAdminTextInputWidget()
        self.fields["regtask"].widget = TaskSelect()


@admin.register(models.PeriodicTask)
class PeriodicTaskAdmin(beat.PeriodicTaskAdmin, ModelAdmin[Any]):  # type: ignore[misc]
    """Messages that Beat sends, and their times."""

    form = PeriodicTaskForm


class TasksInline(beat.PeriodicTaskInline, TabularInline[Any, Any]):  # type: ignore[misc]
    """The tasks of a schedule."""


@admin.register(models.IntervalSchedule)
class IntervalScheduleAdmin(beat.IntervalScheduleAdmin, ModelAdmin[Any]):  # type: ignore[misc]
    """Schedules with a fixed interval."""

    inlines = (TasksInline,)


@admin.register(models.CrontabSchedule)
class CrontabScheduleAdmin(beat.CrontabScheduleAdmin, ModelAdmin[Any]):  # type: ignore[misc]
    """Schedules with a cron expression."""

    inlines = (TasksInline,)


@admin.register(models.SolarSchedule)
class SolarScheduleAdmin(beat.SolarScheduleAdmin, ModelAdmin[Any]):  # type: ignore[misc]
    """Schedules at sunrise, sunset and other solar events."""

    inlines = (TasksInline,)


@admin.register(models.ClockedSchedule)
class ClockedScheduleAdmin(beat.ClockedScheduleAdmin, ModelAdmin[Any]):  # type: ignore[misc]
    """Schedules with a single time."""

    inlines = (TasksInline,)
