"""The settings of patterns as fields of a form, derived from their models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from django import forms
from pydantic.fields import FieldInfo
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from agents.admin.json_fields import json_widget
from agents.admin.workflow.rows import GROUPS, Choices, OfferedField
from agents.admin.workflow.steps import read_data
from agents.workflows.patterns.expansion import PATTERNS
from heartbit_site.shell.fields import LongText

TITLES: Final = {
    "sequential": "Sequential: one after another, each with the answer before its own",
    "concurrent": "Concurrent: all at the same time",
    "group_chat": "Group chat: in turn, until it ends",
    "handoff": "Handoff: the first answers, or passes the task on",
    "magentic": "Magentic: a manager plans, and instructs one at a time",
    "squad": "Squad: side by side in rounds, with a shared board",
}
_EXAMPLES: Final = {
    "select": 'round_robin, smart, {"by_model": "AGENT"} or {"no_repeat": "smart"}',
    "end": '{"any_of": [{"max_messages": 20}, {"keyword": "APPROVED", "by": "AGENT"}]}',
    "routes": '{"coder": ["reviewer"]}',
}
_FIRST: Final = {"end": '{"max_messages": 20}'}


class PatternForm(forms.Form):
    """A pattern and its settings; those of other patterns are ignored."""

    pattern = forms.ChoiceField(
        required=False,
        choices=[(name, TITLES.get(name, name)) for name in PATTERNS],
        widget=UnfoldAdminSelectWidget(),
    )

    prefix = "pattern"

    def __init__(self, data: Any = None, *, subjects: Choices) -> None:
        super().__init__(data)
        agents = [one for one in subjects if one[0] in (GROUPS["agent"], GROUPS["workflow"])]
        for pattern, model in PATTERNS.items():
            for name, field in model.model_fields.items():
                if name != "agents":
                    self.fields[f"{pattern}-{name}"] = _form_field(name, field, agents)

    def groups(self) -> Iterator[tuple[str, list[forms.BoundField]]]:
        """Yield each pattern with the fields of its settings."""
        for pattern in PATTERNS:
            names = [name for name in self.fields if name.startswith(f"{pattern}-")]
            yield pattern, [self[name] for name in names]

    def chosen(self) -> str:
        """Return the pattern's name."""
        return self.cleaned_data.get("pattern") or "sequential"

    def settings(self, agents: list[tuple[str, str]]) -> dict[str, Any]:
        """Return the table of the chosen pattern; a list of agents if none has a role."""
        start = f"{self.chosen()}-"
        found: dict[str, Any] = {}
        for name, value in self.cleaned_data.items():
            if name.startswith(start) and value not in ("", None):
                is_subject = isinstance(self.fields[name], OfferedField)
                found[name.removeprefix(start)] = value.partition(":")[2] if is_subject else value
        if "agents" in PATTERNS[self.chosen()].model_fields:
            roles = dict(agents)
            plain = len(roles) < len(agents) or not any(roles.values())
            found["agents"] = [name for name, _ in agents] if plain else roles
        return found


class DataField(LongText):
    """A word, or JSON."""

    def clean(self, value: Any) -> Any:
        """Return the value that the text is."""
        return read_data(str(super().clean(value)).strip())


def _form_field(name: str, field: FieldInfo, agents: Choices) -> forms.Field:
    kinds = [_plain(kind) for kind in get_args(field.annotation) or (field.annotation,)]
    origin = get_origin(field.annotation)
    label = name.replace("_", " ").capitalize()
    shared: dict[str, Any] = {
        "required": False,
        "label": label,
        "help_text": field.description or "",
    }
    if origin is Literal:
        choices = [(one, str(one).replace("_", " ").capitalize()) for one in kinds]
        return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget(), **shared)
    if int in kinds and origin not in (dict, list):
        first = None if field.is_required() else field.default
        return forms.IntegerField(initial=first, widget=UnfoldAdminIntegerFieldWidget(), **shared)
    if str in kinds and origin not in (dict, list):
        none = ("", "Choose" if field.is_required() else "None")
        return OfferedField(choices=[none, *agents], **shared)
    widget = json_widget(rows=2, placeholder=_EXAMPLES.get(name, ""))
    return DataField(widget=widget, initial=_FIRST.get(name), **shared)


def _plain(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
