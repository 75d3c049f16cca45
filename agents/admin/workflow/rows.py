"""The rows of a workflow's form: one a step, and one an agent of a pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.contrib.auth.models import Group
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
)

from agents.admin.json_fields import JSONObjectText, json_widget
from agents.admin.workflow.steps import ANSWERS, PLAIN, SUBJECTS, TEXTS, Step, row_of, step_of
from agents.models import Agent
from agents.runtime.execution.installed_executors import installed_executors
from heartbit_site.admin.themed import line_widget, text_widget
from heartbit_site.shell.fields import LongText
from tools.definitions.catalogue import catalogue

#: Rows of a form; a graph with more steps is edited as text.
MAX_ROWS: Final = 50
WORKS: Final = {
    "agent": "Ask an agent",
    "tool": "Call a tool",
    "ask": "Ask a person",
    "set": "Write to the state",
    "code": "Run code",
    "workflow": "Run a workflow",
    "function": "Call a function",
    "validator": "Check with a function",
    "pause": "Wait",
}
#: Labels of the groups of subjects.
GROUPS: Final = {
    "agent": "Agents",
    "workflow": "Workflows",
    "tool": "Tools",
    "function": "Functions",
}
#: What is missing where a step has no text.
NEEDED: Final = {
    "ask": "Write the question.",
    "code": "Write the code.",
    "pause": "Say how long, such as 90m or 2d.",
}
_EMPTY: Final = ("name", "subject", "text", "after", "answer", *PLAIN, "more")
Choices = list[tuple[str, Any]]


def subject_choices(workspace_id: int | None) -> Choices:
    """Return what steps of a workspace's workflows may run, as ``group:name`` by group."""
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    if workspace_id is not None:
        rows = Agent.objects.filter(workspace=workspace_id, origin="").order_by("name")
        for name, kind in rows.values_list("name", "kind"):
            found["workflow" if kind == "workflow" else "agent"].append(name)
        found["tool"] = sorted(catalogue(workspace_id))
        found["function"] = sorted(installed_executors())
    grouped = [
        (GROUPS[group], [(f"{group}:{name}", name) for name in names])
        for group, names in found.items()
        if names
    ]
    return [("", "Choose"), *grouped]


class OfferedField(forms.ChoiceField):
    """A choice of what exists; a value that does not exist is kept, and refused by name."""

    widget = UnfoldAdminSelectWidget

    def valid_value(self, value: str) -> bool:
        """Accept any name: the check of the whole workflow says what is wrong with it."""
        return True


def pick(label: str, **choices: str) -> forms.ChoiceField:
    """Return a choice whose first is that of an empty field."""
    return forms.ChoiceField(
        label=label,
        choices=list(choices.items()),
        widget=UnfoldAdminSelectWidget(),
        initial=next(iter(choices)),
        required=False,
    )


def line(example: str, label: str, meaning: str = "") -> forms.CharField:
    """Return an optional field of one line."""
    widget = line_widget(placeholder=example)
    return forms.CharField(required=False, label=label, widget=widget, help_text=meaning)


class PlacedForm(forms.Form):
    """A row that has a place among others, and may be removed."""

    position = forms.IntegerField(
        required=False, widget=UnfoldAdminIntegerFieldWidget({"autocomplete": "off"})
    )
    remove = forms.BooleanField(required=False)

    def offer(self, field: str, choices: Choices) -> None:
        """Offer choices at a field, and the value that it has already."""
        now = str(self[field].value() or "")
        single = [part if isinstance(part, list) else [(one, part)] for one, part in choices]
        is_known = any(now == value for group in single for value, _ in group)
        offered: Any = self.fields[field]
        gone = now.partition(":")[2] or now
        offered.choices = choices if is_known else [*choices, (now, f"{gone} (gone)")]


class StepForm(PlacedForm):
    """A step of a workflow."""

    name = line("find", "Name")
    does = forms.ChoiceField(choices=list(WORKS.items()), widget=UnfoldAdminSelectWidget())
    subject = OfferedField(required=False, label="Which one")
    text = LongText(required=False, widget=text_widget(rows=3), label="Text")
    answer = pick("Answer", **{"": "Text, or a form of More settings", **ANSWERS})
    group = OfferedField(required=False, label="Who answers")
    timeout = line("2d", "Time limit", "Such as 30s, 90m or 2d; after it, the step fails.")
    after = forms.MultipleChoiceField(
        required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget()
    )
    when = line("steps.find.output.score >= 0.8", "Only when", "Else the step is skipped.")
    each = line(
        "steps.find.output.urls",
        "For each",
        "A list; the step runs once for each entry, which is {{ item }} in its text.",
    )
    on_error = pick("If it fails", fail="The run fails", **{"continue": "Continue without output"})
    more = JSONObjectText(
        required=False,
        label="More settings",
        initial=dict,
        widget=json_widget(rows=2, placeholder='{"retry": {"times": 2}}'),
        help_text="JSON: retry, max_parallel, language, input, output, and of a question form and "
        "on_timeout.",
    )

    def __init__(
        self,
        *args: Any,
        subjects: Choices,
        groups: Choices,
        steps: Sequence[str] = (),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.offer("subject", subjects)
        self.offer("group", groups)
        others = [(str(i), one or f"step {i + 1}") for i, one in enumerate(steps)]
        after: Any = self.fields["after"]
        after.choices = [one for one in others if one[0] != str(self.number)]
        on_error: Any = self.fields["on_error"]
        handlers = [(value, f"Go to {name}") for value, name in after.choices]
        on_error.choices = [*on_error.choices, *handlers]

    @property
    def number(self) -> int:
        """Number by which other rows refer to this one; -1: it is the pattern of new rows."""
        number = str(self.prefix).rpartition("-")[2]
        return int(number) if number.isdecimal() else -1

    def clean_on_error(self) -> str:
        """Nothing is ``fail``."""
        return self.cleaned_data["on_error"] or "fail"

    def clean(self) -> dict[str, Any]:
        """Refuse a subject of another kind, and a text that is not what the step needs."""
        given = super().clean() or self.cleaned_data
        if given.get("remove") or not (self.errors or any(given.get(name) for name in _EMPTY)):
            return given
        does, text = given.get("does", ""), given.get("text", "")
        group = given.get("subject", "").partition(":")[0]
        if not given.get("name") and "name" not in self.errors:
            self.add_error("name", "Name the step.")
        if does in SUBJECTS and group not in SUBJECTS[does]:
            wanted = SUBJECTS[does][0]
            self.add_error("subject", f"Choose {'an' if wanted == 'agent' else 'a'} {wanted}.")
        if does in NEEDED and not text.strip():
            self.add_error("text", NEEDED[does])
        if TEXTS.get(does) in ("arguments", "set") and text:
            try:
                JSONObjectText().to_python(text)
            except forms.ValidationError as error:
                self.add_error("text", error)
        return given

    @property
    def is_detailed(self) -> bool:
        """True if a setting in the folded part of the row is set, or faulty."""
        folded = ("when", "each", "timeout", "more", "on_error")
        is_set = any(self[name].value() for name in folded[:-1])
        return is_set or any(name in self.errors for name in folded)

    @property
    def is_kept(self) -> bool:
        """True unless the row is removed or empty."""
        given = self.cleaned_data
        is_empty = not self.errors and not any(given.get(name) for name in _EMPTY)
        return not given.get("remove") and not is_empty

    def as_step(self, names: Sequence[str]) -> Step:
        """Return the step of the row; fields with errors are left out."""
        blank = dict.fromkeys(("name", "subject", "text", "answer", *PLAIN), "")
        kept = {"after": [], "on_error": "fail", "more": {}, "does": "set", **blank}
        given = {**kept, **self.cleaned_data}
        return step_of(given if "does" in self.cleaned_data else given | {"text": ""}, names)


class AgentRowForm(PlacedForm):
    """An agent of a pattern, with its role."""

    agent = OfferedField(required=False)
    role = line("reviews the code", "Role")

    def __init__(self, *args: Any, subjects: Choices, **options: Any) -> None:
        super().__init__(*args, **options)
        agents = [one for one in subjects if one[0] in ("", GROUPS["agent"], GROUPS["workflow"])]
        self.offer("agent", agents)

    @property
    def is_kept(self) -> bool:
        """True if an agent is chosen and the row is not removed."""
        return bool(self.cleaned_data.get("agent")) and not self.cleaned_data.get("remove")


class Rows(forms.BaseFormSet[Any]):
    """Rows in the order of their positions."""

    @property
    def shown(self) -> list[Any]:
        """Rows as the page shows them."""
        return sorted(self.forms, key=_position)

    @property
    def kept(self) -> list[Any]:
        """Rows that count, once they were checked."""
        return [form for form in self.shown if form.is_kept]


def _position(form: PlacedForm) -> int:
    value = str(form["position"].value() or "")
    return int(value) if value.isdecimal() and len(value) < 6 else 10**6


def _rows(form: type[PlacedForm]) -> Any:
    return forms.formset_factory(form, Rows, extra=1, max_num=MAX_ROWS, absolute_max=MAX_ROWS)


StepRows, AgentRows = _rows(StepForm), _rows(AgentRowForm)


def step_rows(data: Any, steps: Mapping[str, Step], subjects: Choices) -> Any:
    """Return the rows of steps: those that were sent, or those of stored steps."""
    if data is None:
        numbers = {name: number for number, name in enumerate(steps)}
        first = [
            row_of(name, step, numbers) | {"position": numbers[name] + 1}
            for name, step in steps.items()
        ]
        names, options = [*steps, ""], {"initial": first}
    else:
        names, options = _sent_names(data), {"data": data}
    groups = Group.objects.order_by("name").values_list("name", "name")
    offered = [("", "All who may decide"), *groups]
    kwargs = {"subjects": subjects, "groups": offered, "steps": names}
    return StepRows(prefix="steps", form_kwargs=kwargs, **options)


def _sent_names(data: Mapping[str, Any]) -> list[str]:
    count = str(data.get("steps-TOTAL_FORMS", "0"))
    total = int(count) if count.isdecimal() and len(count) < 4 else 0
    return [str(data.get(f"steps-{n}-name", "")).strip() for n in range(min(total, MAX_ROWS))]
