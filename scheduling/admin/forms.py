"""The form of a schedule's page, and those of its dialogs."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSplitDateTimeWidget,
    UnfoldBooleanSwitchWidget,
)

from agents.models import WebhookEndpoint
from heartbit_site.base.admin.themed import DialogForm, line_widget, text_widget
from heartbit_site.base.errors import HeartbitError
from scheduling.actions.save_schedule import check
from scheduling.models import Schedule
from scheduling.querysets import database_now
from scheduling.slots import first_slot

_EMAIL, _WEBHOOK, _ARTIFACT = "email", "webhook", "artifact"


class ScheduleForm(forms.ModelForm[Schedule]):
    """What is done and when; where results go is told apart by its kinds."""

    mail_to = forms.CharField(
        label="E-mail to",
        required=False,
        widget=line_widget(placeholder="ann@example.org, ben@example.org"),
        help_text="Who gets each result; separate addresses by commas.",
    )
    mail_attach = forms.BooleanField(
        label="With attachments",
        required=False,
        initial=True,
        widget=UnfoldBooleanSwitchWidget(),
        help_text="The answer as report.md, and what the run produced.",
    )
    tell = forms.ModelMultipleChoiceField(
        label="Webhooks",
        required=False,
        queryset=WebhookEndpoint.objects.order_by("name"),
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text="Each is posted the result, signed.",
    )
    keep_as = forms.CharField(
        label="Keep as a file",
        required=False,
        max_length=100,
        widget=line_widget(placeholder="report"),
        help_text="The answer stays on the run's page under this name.",
    )

    class Meta:
        model = Schedule
        fields = (
            *("workspace", "name", "agent", "enabled"),
            *("task_type", "task", "tool", "arguments", "approve"),
            *("kind", "cron", "every_seconds", "at", "time_zone", "begins_at", "ends_at"),
            *("missed", "overlap", "jitter_seconds"),
        )
        widgets = {
            "task": text_widget(rows=6, placeholder="Write the sales report of last week ..."),
            "cron": line_widget(placeholder="0 9 * * MON"),
        }
        labels = {
            "task_type": "What happens",
            "kind": "When",
            "every_seconds": "Seconds between two",
            "at": "At",
            "approve": "Ask before each tool call",
            "jitter_seconds": "Jitter (seconds)",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for target in self.instance.deliver:
            match target["kind"]:
                case "email":
                    self.initial["mail_to"] = ", ".join(target["to"])
                    self.initial["mail_attach"] = target["attach"]
                case "webhook":
                    self.initial.setdefault("tell", []).append(target["endpoint"])
                case "artifact":
                    self.initial["keep_as"] = target["name"]

    def _post_clean(self) -> None:
        """Also asks the verb whether it would take the row as it is now."""
        super()._post_clean()  # type: ignore[misc]
        if self.errors:
            return
        schedule = self.instance
        schedule.deliver = self._targets()
        now = database_now()
        schedule.begins_at = schedule.begins_at or now
        try:
            check(schedule, schedule.workspace)
        except HeartbitError as error:
            self.add_error(None, str(error))
            return
        if schedule._state.adding and first_slot(schedule, now) is None:
            self.add_error("at", "That time is over: give one that is still to come.")

    def _targets(self) -> list[dict[str, Any]]:
        """What the fields about delivery say; what they have no words for stays as it was."""
        known = {target["kind"]: target for target in self.instance.deliver}
        found: list[dict[str, Any]] = []
        to = [one.strip() for one in self.cleaned_data["mail_to"].split(",") if one.strip()]
        if to:
            mail = known.get(_EMAIL, {})
            found.append(
                {**mail, "kind": _EMAIL, "to": to, "attach": self.cleaned_data["mail_attach"]}
            )
        found += [{"kind": _WEBHOOK, "endpoint": one.pk} for one in self.cleaned_data["tell"]]
        if self.cleaned_data["keep_as"]:
            found.append({"kind": _ARTIFACT, "name": self.cleaned_data["keep_as"]})
        return found


class SpanForm(DialogForm):
    """A span of the past."""

    begin = forms.SplitDateTimeField(label="From", widget=UnfoldAdminSplitDateTimeWidget())
    end = forms.SplitDateTimeField(label="To", widget=UnfoldAdminSplitDateTimeWidget())


def conditions() -> dict[str, str]:
    """Which fields are shown when, in the words of the theme."""
    shown = {"cron": "cron", "every_seconds": "interval", "at": "once"}
    found = {field: f"kind == '{kind}'" for field, kind in shown.items()}
    found |= {"task": "task_type != 'tool_call'"}
    return found | dict.fromkeys(("tool", "arguments"), "task_type == 'tool_call'")
