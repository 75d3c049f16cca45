"""The form of a schedule: it changes what it shows, and keeps everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django import forms

from agents.delivery.targets import describe_target
from agents.models import Agent, WebhookEndpoint
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import Workspace
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.shell.fields import LongText
from scheduling.actions.save_schedule import problems
from scheduling.actions.schedules import put
from scheduling.choices import CatchUp, Overlap, TaskType
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.querysets import database_now
from scheduling.recurrence import time_zone
from scheduling.sentences import read_sentence, write_sentence
from scheduling.spec import KINDS, TASK_CHARACTERS

Target = dict[str, Any]
#: Settings that the form has under their own names.
PLAIN: Final = (
    *("name", "agent", "task_type", "task", "tool", "arguments", "input"),
    *("time_zone", "catch_up", "overlap", "jitter_seconds", "require_approval"),
    *("review", "cost_brake", "test"),
)
_LONG: Final = {"rows": 6, "placeholder": "Write the sales report of last week …"}
_TEST: Final = '{"tool": "read_feed", "arguments": {}, "when": "len(result) > 0"}'
_JSON: Final = {"rows": 3, "spellcheck": "false", "class": "code"}


class SchedulePageForm(forms.Form):
    """All settings of a schedule but its begin and end, which the admin's form has.

    ``given`` has the settings to write, once the form is valid: those that differ from the stored
    ones, so that a save cannot overwrite a concurrent change, or what the form does not show.
    """

    name = forms.CharField(
        max_length=100, help_text="States its purpose, e.g. Monday sales report."
    )
    agent = forms.ChoiceField(label="Agent or workflow")
    rhythm = forms.CharField(
        label="When",
        max_length=200,
        widget=forms.TextInput({"placeholder": "every weekday at 8:00", "autocomplete": "off"}),
        help_text=(
            "Such as every 15 minutes, mondays and thursdays at 9, the 1st of the month at 7:30, "
            "tomorrow at 9:00, or a cron expression."
        ),
    )
    time_zone = forms.CharField(
        max_length=60,
        widget=forms.TextInput({"list": "zones", "autocomplete": "off"}),
        help_text="Zone of all its times, e.g. Europe/Berlin.",
    )
    task_type = forms.ChoiceField(label="What it starts", choices=TaskType.choices)
    task = LongText(
        required=False,
        max_length=TASK_CHARACTERS,
        widget=forms.Textarea(_LONG),
        help_text="Task of the agent, the same for each run.",
    )
    input = forms.JSONField(
        label="Input of the workflow",
        required=False,
        widget=forms.Textarea(_JSON),
        help_text="A JSON object, for a run of a workflow with data.",
    )
    tool = forms.CharField(
        required=False, max_length=64, help_text="For a call of one of the agent's tools."
    )
    arguments = forms.JSONField(
        label="Arguments of the tool", required=False, widget=forms.Textarea(_JSON)
    )
    catch_up = forms.ChoiceField(
        label="Missed times",
        choices=CatchUp.choices,
        help_text="Times to catch up after an outage.",
    )
    overlap = forms.ChoiceField(
        label="While the last run is active",
        choices=Overlap.choices,
        help_text="Policy for a time that comes meanwhile.",
    )
    jitter_seconds = forms.IntegerField(
        label="Jitter in seconds", min_value=0, max_value=3600, help_text="At most so much later."
    )
    require_approval = forms.BooleanField(label="Every tool call needs approval", required=False)
    review = forms.CharField(
        label="Reviewers of each result",
        required=False,
        max_length=160,
        help_text="They see it before it is delivered: anyone, group:NAME or person:USERNAME.",
    )
    cost_brake = forms.IntegerField(
        label="Pause at a multiple of the usual cost",
        required=False,
        min_value=2,
        max_value=1000,
        help_text="Pauses once a run costs more than this multiple of the last ten. Empty: never.",
    )
    test = forms.JSONField(
        label="Test before each run",
        required=False,
        widget=forms.Textarea(_JSON | {"placeholder": _TEST}),
        help_text=(
            "A tool of the agent, a workflow or a condition that decides whether a time runs at "
            "all: {tool, arguments} or {workflow, input}, `when` on `result` and on `last`, the "
            "last run, and `on_error`: run or skip. Empty: none."
        ),
    )

    def __init__(
        self, workspace: Workspace, row: Schedule, data: Any = None, *, initial: Any = None
    ) -> None:
        self.row, self.workspace = row, workspace
        self.given: dict[str, Any] = {}
        shown = self._shown() | (initial or {})
        super().__init__(data, initial=shown)
        agents = Agent.objects.filter(workspace=workspace, origin="").order_by("name")
        names = list(agents.values_list("name", flat=True))
        if row.agent_id is not None and row.agent.name not in names:
            names.append(row.agent.name)
        agent: Any = self.fields["agent"]
        agent.choices = [(name, name) for name in names]
        self.targets = TargetForms(workspace, row.deliver, data)

    def _shown(self) -> dict[str, Any]:
        row = self.row
        found = {name: getattr(row, name) for name in PLAIN if name != "agent"}
        found["agent"] = row.agent.name if row.agent_id is not None else ""
        found["rhythm"] = "" if row._state.adding else self._said()
        return found

    def _said(self) -> str:
        kinds = {name: getattr(self.row, name) for name in KINDS}
        try:
            return write_sentence(kinds, time_zone(self.row.time_zone))
        except ScheduleError:  # a time zone that this machine does not know
            return self.row.cron

    def clean(self) -> dict[str, Any]:
        """Read the sentence, and find all problems that a save would find, each at its field."""
        found = super().clean() or self.cleaned_data
        before = self._shown()
        for name in ("input", "arguments", "test"):
            found[name] = {} if found.get(name) is None else found[name]
        is_new = self.row._state.adding
        given = {name: found[name] for name in PLAIN if name in found}
        self.given = {n: value for n, value in given.items() if is_new or value != before[n]}
        if "rhythm" in found and "time_zone" in found:
            self._read_rhythm(found, before)
        if self.targets.is_valid() and self.targets.targets != self.row.deliver:
            self.given["deliver"] = self.targets.targets
        self._check()
        return found

    def _read_rhythm(self, found: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        try:
            zone = time_zone(found["time_zone"])
        except ScheduleError as error:
            self.add_error("time_zone", str(error))
            return
        is_same = all(found[name] == before[name] for name in ("rhythm", "time_zone"))
        if is_same and not self.row._state.adding:
            return
        try:
            self.given |= read_sentence(found["rhythm"], zone, database_now())
        except ScheduleError as error:
            self.add_error("rhythm", str(error))

    def _check(self) -> None:
        """Put the settings into the row, which is not saved, and find what is wrong with them."""
        known = {name for name in self.errors if name != "__all__"}
        row, settings = self.row, {n: v for n, v in self.given.items() if n not in known}
        row.begins_at = getattr(row, "begins_at", None) or database_now().replace(microsecond=0)
        try:
            put(row, settings)
        except HeartbitError as error:
            self.add_error("task_type" if isinstance(error, ScheduleError) else "agent", str(error))
            return
        if "rhythm" in known:
            known |= {"cron", "every_seconds", "at", "kind", "time_zone"}
        for column, problem in problems(row, self.workspace, known=known):
            if column == "deliver":
                self.targets.problem = str(problem)
            self.add_error(self._field_of(column), str(problem))

    def _field_of(self, column: str) -> str | None:
        if column in (*KINDS, "kind"):
            return "rhythm"
        return column if column in self.fields else None


class TargetForm(forms.Form):
    """One target of results; what the form does not show of it is kept.

    Fields that do not concern the kind of the target are absent.
    """

    was = forms.JSONField(widget=forms.HiddenInput, required=False)
    to = forms.CharField(
        label="E-mail to",
        required=False,
        widget=forms.TextInput({"placeholder": "ann@example.org, ben@example.org"}),
        help_text="Addresses, separated by commas.",
    )
    subject = forms.CharField(required=False, max_length=200)
    attach = forms.BooleanField(label="With the answer and files attached", required=False)
    endpoint = forms.ChoiceField(label="Webhook", required=False)
    artifact = forms.CharField(
        label="Keep as artifact",
        required=False,
        max_length=64,
        help_text="The answer stays on the run's page under this name.",
    )
    file = forms.CharField(
        label="Write to the drive",
        required=False,
        max_length=500,
        widget=forms.TextInput({"placeholder": "reports/{date}.md"}),
        help_text="File of the workspace's drive; {date}, {time}, {agent} and {run} are filled in.",
    )
    replace = forms.BooleanField(label="Replace a file of that name", required=False)
    remove = forms.BooleanField(required=False, label="Remove")

    KINDS: Final = {
        "email": ("to", "subject", "attach"),
        "webhook": ("endpoint",),
        "artifact": ("artifact",),
        "drive": ("file", "replace"),
    }

    def __init__(
        self,
        prefix: str,
        kind: str,
        webhooks: list[tuple[str, str]],
        data: Any = None,
        target: Target | None = None,
    ) -> None:
        self.kind = kind
        shown = dict(target or {"attach": True})
        shown["to"] = ", ".join(shown.get("to", []))
        shown["artifact"] = shown.get("name", "")
        super().__init__(data, prefix=prefix, initial=shown | {"was": target})
        kept = {*self.KINDS.get(kind, ()), "was", *(("remove",) if target is not None else ())}
        for name in self.fields.keys() - kept:
            del self.fields[name]
        if "endpoint" in self.fields:
            field: Any = self.fields["endpoint"]
            known = {number for number, _ in webhooks}
            number = str(shown.get("endpoint", ""))
            gone = [] if not number or number in known else [(number, f"webhook {number}, removed")]
            field.choices = [("", "none"), *webhooks, *gone]
        self.said = describe_target(target or {})

    def target(self) -> Target | None:
        """Return the target of a valid form; None: there is none any more."""
        given = self.cleaned_data
        was: Target = given.get("was") or {}
        if given.get("remove"):
            return None
        match self.kind:
            case "email":
                to = [one.strip() for one in given["to"].split(",") if one.strip()]
                changed = {"to": to, "attach": given["attach"]}
                if given["subject"] or "subject" in was:
                    changed["subject"] = given["subject"]
                return {"kind": "email", **was, **changed} if to else None
            case "webhook":
                number = given["endpoint"]
                return {"kind": "webhook", **was, "endpoint": int(number)} if number else None
            case "artifact":
                name = given["artifact"]
                return {"kind": "artifact", **was, "name": name} if name else None
            case "drive":
                file = {"file": given["file"], "replace": given["replace"]}
                return {"kind": "drive", **was, **file} if given["file"] else None
        return was


class TargetForms:
    """The forms of a schedule's targets, in their order, and an empty one of each kind.

    Attributes:
        targets: All targets, once ``is_valid`` has returned True.
        problem: What is wrong with them together, as a sentence; may be empty.
    """

    problem = ""

    def __init__(self, workspace: Workspace, stored: list[Target], data: Any = None) -> None:
        rows = WebhookEndpoint.objects.filter(workspace=workspace).order_by("name")
        webhooks = [(str(pk), name) for pk, name in rows.values_list("pk", "name")]
        self.targets: list[Target] = []
        posted = _posted(data) if data is not None else stored
        self.stored = [
            TargetForm(f"target-{n}", target.get("kind", ""), webhooks, data, target)
            for n, target in enumerate(posted)
        ]
        self.new = [TargetForm(f"new-{kind}", kind, webhooks, data) for kind in TargetForm.KINDS]
        if not webhooks:
            self.new = [one for one in self.new if one.kind != "webhook"]

    def is_valid(self) -> bool:
        """Return True if all of them are valid."""
        forms_ = [*self.stored, *self.new]
        valid = [one.is_valid() for one in forms_]  # each of them has its errors then
        if not all(valid):
            return False
        self.targets = [found for one in forms_ if (found := one.target()) is not None]
        return True


def _posted(data: Mapping[str, Any]) -> list[Target]:
    """Return the targets that the page showed: they may have changed since."""

    def read() -> Iterator[Target]:
        number = 0
        while (text := data.get(f"target-{number}-was")) is not None:
            try:
                target = parse_untrusted_json(text)
            except UntrustedJSONError:
                target = {}
            yield target if isinstance(target, dict) else {}
            number += 1

    return list(read())
