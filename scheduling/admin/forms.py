"""The form of a schedule's page, and those of its dialogs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone
from unfold import widgets

from agents.models import WebhookEndpoint
from heartbit_site.admin.actions import DialogForm
from heartbit_site.admin.saved_by_verb import VerbForm
from heartbit_site.admin.themed import line_widget, text_widget
from heartbit_site.base.moments import NoSuchTimeError, localize
from scheduling.actions.save_schedule import problems
from scheduling.errors import ScheduleError
from scheduling.firings import RHYTHM
from scheduling.models import Schedule
from scheduling.occurrences import first_slot
from scheduling.querysets import database_now
from scheduling.recurrence import time_zone
from scheduling.spec import KINDS

Target = dict[str, Any]


def shown_targets(targets: Sequence[Target], offered: Collection[int]) -> list[Target]:
    """Return the targets that the fields show; unavailable webhooks are left out."""
    webhooks = [one for one in targets if one["kind"] == "webhook" and one["endpoint"] in offered]
    firsts = {one["kind"]: one for one in reversed(targets) if one["kind"] != "webhook"}
    return [*webhooks, *firsts.values()]


def changed_targets(
    targets: Sequence[Target], shown: Sequence[Target], given: Sequence[Target]
) -> list[Target]:
    """Return the targets in their order, with the shown ones replaced by those given.

    Args:
        targets: The stored ones.
        shown: The stored targets that the fields show.
        given: The values of the fields: at most one e-mail, artifact and file of the drive, and
            any number of webhooks.
    """
    left = list(given)
    found: list[Target] = []
    for target in targets:
        if target not in shown:
            found.append(target)
            continue
        new = next((one for one in left if _same_field(one, target)), None)
        if new is not None:
            left.remove(new)
            found.append({**target, **new})
    return found + left


def _same_field(one: Target, other: Target) -> bool:
    return one["kind"] == other["kind"] and one.get("endpoint") == other.get("endpoint")


#: What the next runs follow from.
RHYTHM_FIELDS = frozenset(RHYTHM)
_TIMES = ("at", "begins_at", "ends_at")


class LocalTimeWidget(widgets.UnfoldAdminSplitDateTimeWidget):  # type: ignore[misc]
    """The browser's date and time picker; the admin's would offer *Now* and *Today* in UTC."""

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        for part, kind, shape in zip(
            self.widgets, ("date", "time"), ("%Y-%m-%d", "%H:%M:%S"), strict=True
        ):
            part.input_type, part.format = kind, shape
        self.widgets[1].attrs["step"] = 1  # with seconds


class StackedTimeWidget(LocalTimeWidget):
    """Date and time stacked vertically, for narrow dialogs."""

    template_name = "unfold/widgets/split_datetime_vertical.html"


class LocalTimeField(forms.SplitDateTimeField):
    """Local date and time without a zone, which the form knows."""

    def compress(self, data_list: Any) -> datetime | None:
        """Return date and time as one value, as entered."""
        with timezone.override(UTC):  # in which no time of day is left out
            moment: datetime | None = super().compress(data_list)
        return None if moment is None else moment.replace(tzinfo=None)


class ScheduleForm(VerbForm[Schedule]):
    """Form of a schedule; each kind of delivery target has its own field (``delivery_fields``).

    Times are shown and read in the chosen time zone. A new zone keeps the time of day, except for
    an unchanged begin, which keeps its moment.
    """

    mail_to = forms.CharField(
        label="E-mail to",
        required=False,
        widget=line_widget(placeholder="ann@example.org, ben@example.org"),
        help_text="Recipients of each result, separated by commas.",
    )
    mail_attach = forms.BooleanField(
        label="With attachments",
        required=False,
        initial=True,
        widget=widgets.UnfoldBooleanSwitchWidget(),
        help_text="The answer as report.md, and what the run produced.",
    )
    tell = forms.ModelMultipleChoiceField(
        label="Webhooks",
        required=False,
        queryset=WebhookEndpoint.objects.order_by("name"),
        widget=widgets.UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text="The signed result is posted to each.",
    )
    keep_as = forms.CharField(
        label="Save as artifact",
        required=False,
        max_length=100,
        widget=line_widget(placeholder="report"),
        help_text="The answer stays on the run's page under this name.",
    )

    drive_file = forms.CharField(
        label="Write to the drive",
        required=False,
        max_length=500,
        widget=line_widget(placeholder="reports/{date}.md"),
        help_text="File of the workspace's drive; {date}, {time}, {agent} and {run} are filled in.",
    )

    class Meta:
        model = Schedule
        fields = (
            *("workspace", "name", "agent", "enabled"),
            *("task_type", "task", "tool", "arguments", "input", "require_approval"),
            *("kind", "cron", "every_seconds", "at", "time_zone", "begins_at", "ends_at"),
            *("catch_up", "overlap", "jitter_seconds", "review", "cost_brake", "test"),
        )
        widgets = {
            "task": text_widget(rows=6, placeholder="Write the sales report of last week ..."),
            "cron": line_widget(placeholder="0 9 * * MON"),
        } | {name: LocalTimeWidget() for name in _TIMES}
        field_classes = dict.fromkeys(_TIMES, LocalTimeField)
        help_texts = {
            "at": "Time of a one-off, in the time zone.",
            "test": (
                'E.g. {"tool": "read_feed", "when": "len(result) > 0"}: a tool of the agent, a '
                "workflow with its input, or only a condition on `last`, the last run, decides "
                "whether a time runs at all. `on_error`: run or skip. Empty: none."
            ),
            "time_zone": "IANA time zone of all its times, e.g. Europe/Berlin.",
            "begins_at": (
                "Nothing fires before it; an interval counts from it. In the time zone. Empty: now."
            ),
            "ends_at": ("Nothing fires after it. In the time zone. Empty: it never ends."),
        }
        labels = {
            "task_type": "Task",
            "kind": "Recurrence",
            "every_seconds": "Interval (seconds)",
            "require_approval": "Require approval of each tool call",
            "jitter_seconds": "Jitter (seconds)",
            "test": "Test before each run",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._show_times()
        for target in self._shown_targets():
            match target["kind"]:
                case "email":
                    self.initial["mail_to"] = ", ".join(target["to"])
                    self.initial["mail_attach"] = target["attach"]
                case "webhook":
                    self.initial.setdefault("tell", []).append(target["endpoint"])
                case "artifact":
                    self.initial["keep_as"] = target["name"]
                case "drive":
                    self.initial["drive_file"] = target["file"]

    def _shown_targets(self) -> list[Target]:
        tell: Any = self.fields.get("tell")
        offered = tell.queryset.values_list("pk", flat=True) if tell else ()
        return shown_targets(self.instance.deliver, set(offered))

    def clean(self) -> dict[str, Any]:
        """Convert times of day to points in time, now that their zone is known."""
        found = super().clean() or self.cleaned_data
        if "time_zone" not in found:
            return found
        try:
            zone = time_zone(found["time_zone"])
        except ScheduleError as error:
            self.add_error("time_zone", str(error))
            return found
        for name in _TIMES:
            if found.get(name) is None:
                continue
            if name == "begins_at" and name not in self.changed_data:
                found[name] = self.instance.begins_at
                continue
            try:
                found[name] = localize(found[name], zone)
            except NoSuchTimeError as error:
                self.add_error(name, str(error))
        return found

    def _show_times(self) -> None:
        try:
            zone = time_zone(self.instance.time_zone)
        except ScheduleError:  # of an older version: in UTC, until there is one
            return
        for name in _TIMES:
            moment = getattr(self.instance, name)
            if moment is not None:
                self.initial[name] = moment.astimezone(zone).replace(tzinfo=None)

    def _post_clean(self) -> None:
        """Validate the row with the action too, and show all errors at once."""
        super()._post_clean()
        schedule, now = self.instance, database_now()
        schedule.begins_at = schedule.begins_at or now  # also for the page that says what is wrong
        if {"mail_to", "tell", "keep_as", "drive_file"} <= self.cleaned_data.keys():
            schedule.deliver = self._targets()
        known = set(self.errors)
        workspace = schedule.workspace if schedule.workspace_id else None
        for column, error in problems(schedule, workspace, known=known):
            self.add_error(column if column in self.fields else None, str(error))
        if schedule._state.adding and self.says_when() and first_slot(schedule, now) is None:
            self.add_error("at", "The time is in the past: give a future time.")

    def says_when(self) -> bool:
        """True if the fields that determine the next runs are valid."""
        return RHYTHM_FIELDS.isdisjoint(self.errors)

    def _targets(self) -> list[Target]:
        """Return the targets with the changes of the delivery fields."""
        entered = self.cleaned_data
        given: list[Target] = [{"kind": "webhook", "endpoint": one.pk} for one in entered["tell"]]
        if to := [one.strip() for one in entered["mail_to"].split(",") if one.strip()]:
            given.append({"kind": "email", "to": to, "attach": entered["mail_attach"]})
        if entered["keep_as"]:
            given.append({"kind": "artifact", "name": entered["keep_as"]})
        if entered["drive_file"]:
            given.append({"kind": "drive", "file": entered["drive_file"]})
        return changed_targets(self.instance.deliver, self._shown_targets(), given)


class SpanForm(DialogForm):
    """A span of the past, in the schedule's time zone."""

    begin = LocalTimeField(label="From", widget=StackedTimeWidget())
    end = LocalTimeField(label="To", widget=StackedTimeWidget())

    def span(self, zone: ZoneInfo) -> tuple[datetime, datetime]:
        """Return both ends of the span in the given time zone.

        Raises:
            ScheduleError: The time zone skips one of the times.
        """
        given = self.cleaned_data
        try:
            return localize(given["begin"], zone), localize(given["end"], zone)
        except NoSuchTimeError as error:
            raise ScheduleError(str(error)) from None


def conditions() -> dict[str, str]:
    """Return, for each conditional field, the theme's expression that shows it."""
    found = {field: f"kind == '{kind}'" for field, kind in KINDS.items()}
    found |= {"task": "task_type == 'task' || task_type == 'message'"}
    found |= {"input": "task_type == 'workflow'"}
    return found | dict.fromkeys(("tool", "arguments"), "task_type == 'tool_call'")
