"""The form of a workflow: steps in rows, a pattern, or the whole definition as text.

One of the three is used, as ``mode`` says. Whatever is written is checked as a table of
``[[workflows]]``, so the form stores what a file would.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django import forms
from unfold.widgets import UnfoldAdminRadioSelectWidget

from agents.actions.save_agent import VersionConflictError
from agents.admin.forms import Seen, refuse_outdated
from agents.admin.json_fields import JSONObjectText, OptionalJSONObjectText, json_widget
from agents.admin.workflow.check import CheckedWorkflow, check_workflow
from agents.admin.workflow.pattern import PatternForm
from agents.admin.workflow.rows import MAX_ROWS, AgentRows, pick, step_rows, subject_choices
from agents.admin.workflow.steps import PLAIN, Step, read_data, survive, write_data
from agents.admin.workflow.text import read_definition, used_names, write_definition
from agents.definitions import validation_messages
from agents.definitions.validation_messages import InvalidSettingError, Path, sentence_of
from agents.models import Workflow
from agents.reads.agents import table_of
from agents.workflows.patterns.expansion import PATTERNS
from agents.workflows.spec.node import WORK
from agents.workflows.spec.steps import find_steps
from heartbit_site.admin.saved_by_verb import VerbForm
from heartbit_site.admin.themed import text_widget
from heartbit_site.base.errors import HeartbitError
from heartbit_site.shell.fields import LongText

STEPS, PATTERN, TEXT = "steps", "pattern", "text"
MODES: Final = {STEPS: "Steps", PATTERN: "From a pattern", TEXT: "As text"}
MAX_TEXT: Final = 400_000  # characters
#: Settings of the graph beside its nodes and edges.
SETTINGS: Final = ("input", "output", "state", "order", "failure", "limits")
_COLUMNS: Final = ("description", "queue")
#: Fields of a row, by the setting of its node that they are.
_FIELDS: Final = dict.fromkeys(("task", "arguments", "ask", "set", "code", "pause"), "text") | {
    name: name for name in ("name", "on_error", *PLAIN)
}


class WorkflowForm(VerbForm[Workflow]):
    """Fields of a workflow; ``rows``, ``agents`` and ``patterns`` are forms within it.

    Attributes:
        checked: The check of what was sent; None before it.
        marked: Names of the nodes with faults.
        loose: Sentences about faults that have no row.
    """

    seen = Seen(required=False)
    mode = forms.ChoiceField(
        choices=list(MODES.items()), widget=UnfoldAdminRadioSelectWidget(), initial=STEPS
    )
    text = LongText(
        required=False,
        max_length=MAX_TEXT,
        label="Definition",
        widget=json_widget(rows=18),
        help_text="The whole definition as JSON, or in TOML as in heartbit.toml.",
    )
    input = OptionalJSONObjectText(
        required=False,
        widget=json_widget(rows=3, placeholder='{"type": "object", "required": ["topic"]}'),
        help_text="JSON Schema of the input. Empty: anything.",
    )
    output = LongText(
        required=False,
        widget=text_widget(rows=2, placeholder="{{ steps.write.output }}"),
        help_text="Output of a run. Empty: that of the steps that nothing needs.",
    )
    state = JSONObjectText(
        required=False,
        initial=dict,
        widget=json_widget(rows=3, placeholder='{"rounds": {"merge": "add", "initial": 0}}'),
        help_text="Keys that steps write, each with its merge: a JSON object.",
    )
    order = pick("Steps begin", ready="When what they need has ended", barrier="In supersteps")
    failure = pick("After an error", fast="End the run at once", finish="Let running steps finish")
    limits = JSONObjectText(
        required=False,
        initial=dict,
        widget=json_widget(rows=2, placeholder='{"timeout_seconds": 600, "cost_usd": 1.5}'),
        help_text="Limits of a run: supersteps, activations, items, state_bytes, max_parallel, "
        "timeout_seconds, tokens, cost_usd.",
    )

    class Meta:
        model = Workflow
        fields = ("workspace", "name", "description", "queue")
        help_texts: ClassVar = {
            "name": "Name for people and agents, e.g. digest.",
            "description": "Sentence by which people and agents choose the workflow for a task.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.checked: CheckedWorkflow | None = None
        self.marked: set[str] = set()
        self.loose: list[str] = []
        self.stored = table_of(self.instance) if self.instance.pk else {}
        self.steps = _steps(self.stored)
        self.is_expressible = self.steps is not None
        self.initial = {**_initial(self.instance, self.stored, self.steps), **self.initial}
        data = self.data if self.is_bound else None
        self.subjects = subject_choices(self.workspace_id)
        self.rows = step_rows(data, self.steps or {}, self.subjects)
        self.agents = AgentRows(data, prefix="agents", form_kwargs={"subjects": self.subjects})
        self.patterns = PatternForm(data, subjects=self.subjects)

    @property
    def workspace_id(self) -> int | None:
        """Workspace whose agents and tools are offered: one that the person may choose."""
        if self.instance.pk or "workspace" not in self.fields:
            return self.instance.workspace_id
        given = str(self["workspace"].value() or "")
        rows: Any = self.fields["workspace"]
        known = given.isdecimal() and len(given) < 10 and rows.queryset.filter(pk=given).exists()
        return int(given) if known else None

    def clean(self) -> dict[str, Any] | None:
        """Check the whole definition, and show each fault at its row."""
        cleaned = super().clean()
        if self.workspace_id is None or "mode" not in self.fields:
            return cleaned
        table = self._table()
        if table is not None:
            self.checked = check_workflow(table, self.workspace_id)
            for path, message in self.checked.faults:
                self._place(path, message)
        if self.loose:
            self.add_error("text" if self._mode == TEXT else None, self.loose)
        elif self._faulty_rows():
            self.add_error(None, "Some steps cannot be used: see their rows.")
        return cleaned

    def drawing(self) -> str:
        """Return the drawing of what was sent, else of what is stored."""
        if self.checked is None and self.stored and not self.is_bound:
            self.checked = check_workflow(self.stored, self.instance.workspace_id)
        return self.checked.drawing(self.marked) if self.checked is not None else ""

    def as_drawn(self) -> dict[str, Any]:
        """Return the drawing and the faults of what was sent, as JSON."""
        self.rows.is_valid()
        rows = [
            {"field": f"{form.prefix}-{field}", "sentences": list(map(str, errors))}
            for form in [*(self.rows.kept if self._mode == STEPS else ()), self.patterns]
            for field, errors in form.errors.items()
        ]
        spec = self.checked.spec if self.checked is not None else None
        return {
            "drawing": self.drawing(),
            "rows": rows,
            "faults": self.loose,
            "text": write_definition(spec.model_dump(mode="json")) if spec is not None else None,
            "subjects": self.subjects if not self.instance.pk else None,
        }

    def show_refusal(self, refusal: HeartbitError) -> None:
        """Show why the workflow was not saved, at the row that it concerns."""
        if isinstance(refusal, VersionConflictError):
            refuse_outdated(self)
        elif isinstance(refusal, InvalidSettingError):
            self.add_error(None, sentence_of(refusal.path, refusal.message))
        else:
            super().show_refusal(refusal)

    # --------------------------------------------------------------------------------------- table

    @property
    def _mode(self) -> str:
        return str(self.cleaned_data.get("mode", STEPS))

    def _table(self) -> dict[str, Any] | None:
        """Return what was sent as a table of ``[[workflows]]``; None: it cannot be read."""
        columns = {name: self.cleaned_data.get(name) for name in _COLUMNS}
        table = {key: value for key, value in columns.items() if value}
        table["name"] = self.cleaned_data.get("name") or self.instance.name or "new"
        if self._mode == TEXT:
            return self._with_text(table)
        if self._mode == PATTERN:
            return self._with_pattern(table | self._settings())
        return self._with_steps(table | self._settings())

    def _settings(self) -> dict[str, Any]:
        found = {name: self.cleaned_data.get(name) for name in SETTINGS}
        found["output"] = read_data(found["output"] or "")
        if self._mode == PATTERN:
            del found["order"]  # the pattern's own
        return {key: value for key, value in found.items() if value not in (None, "", {})}

    def _with_steps(self, table: dict[str, Any]) -> dict[str, Any]:
        self.rows.is_valid()
        names = [""] * len(self.rows.forms)
        for form in self.rows.kept:
            name = form.cleaned_data.get("name") or f"step {form.number + 1}"
            if name in names:
                form.add_error("name", f"Another step is named {name}.")
                name = f"{name} {form.number + 1}"
            names[form.number] = name
        steps = {names[form.number]: form.as_step(names) for form in self.rows.kept}
        for step in steps.values():
            if not any(key in step for key in WORK):
                step |= {"set": {}, "task": None, "arguments": None}
        if not steps:
            self.loose.append("A workflow needs at least one step.")
        same = [*steps.items()] == [*(self.steps or {}).items()] and self.stored.get("pattern")
        beside = {"pattern": self.stored["pattern"]} if same else {}
        return table | beside | self._grants(steps) | {"steps": steps}

    def _with_pattern(self, table: dict[str, Any]) -> dict[str, Any] | None:
        self.agents.is_valid()
        if not self.patterns.is_valid():
            self.loose.append("Some settings of the pattern cannot be used.")
            return None
        given = [form.cleaned_data for form in self.agents.kept]
        if not given and "agents" in PATTERNS[self.patterns.chosen()].model_fields:
            self.loose.append("Choose the agents of the pattern.")
            return None
        agents = [(one["agent"].partition(":")[2], one["role"]) for one in given]
        name, settings = self.patterns.chosen(), self.patterns.settings(agents)
        for path, message in validation_messages.check(PATTERNS[name], settings, ()):
            field = f"{name}-{path[0]}" if path else ""
            known = field in self.patterns.fields
            if known:
                self.patterns.add_error(field, sentence_of(path, message))
            self.loose.append(sentence_of(path, message))
        return None if self.loose else {**table, name: settings}

    def _with_text(self, table: dict[str, Any]) -> dict[str, Any] | None:
        given, problem = read_definition(self.cleaned_data.get("text", ""))
        own = self.cleaned_data.get("name") or self.instance.name
        if own and not problem and given.get("name", own) != own:
            problem = f"The text is of the workflow {given['name']}, and this one is {own}."
        if problem:
            self.loose.append(problem)
            return None
        return {**table, **given}

    def _grants(self, steps: Mapping[str, Step]) -> dict[str, Any]:
        """Return the stored tools and team without those of steps that are gone."""
        if not self.steps:
            return {}
        before, now = used_names(self.steps.values()), used_names(steps.values())
        tools = [one for one in self.stored["tools"] if one["name"] not in before - now]
        team = [name for name in self.stored["team"] if name not in before - now]
        found = {"tools": tools, "team": team}
        return {key: value for key, value in found.items() if value}

    # -------------------------------------------------------------------------------------- faults

    def _faulty_rows(self) -> bool:
        return self._mode == STEPS and any(form.errors for form in self.rows.kept)

    def _place(self, path: Path, message: str) -> None:
        """Show a fault at the field of its row, or above the form."""
        graph = self.checked.graph if self.checked is not None else None
        match path:
            case ("nodes", int(index), *rest):
                known = graph is not None and index < len(graph.nodes)
                name = graph.nodes[index].name if graph is not None and known else ""
                self.marked.add(name)
                if self._mode == STEPS:
                    self._at_row(index, name, [str(part) for part in rest], message)
                    return
            case ("edges", int(index), *_) if graph is not None and index < len(graph.edges):
                self.marked.update(graph.edges[index].targets)
        if self._mode == STEPS and path[:1] in (("start",), ("edges",)) and self._faulty_rows():
            return  # it follows from a step's name
        sentence = sentence_of(path, message) if path else f"The workflow {message}."
        if path[:1] == ("name",) and "name" in self.fields:
            self.add_error("name", sentence)
        elif sentence not in self.loose:
            self.loose.append(sentence)

    def _at_row(self, index: int, name: str, rest: list[str], message: str) -> None:
        form = self.rows.kept[index]
        setting = rest[0] if rest else ""
        field = _FIELDS.get(setting, "subject" if setting in WORK else "more" if setting else None)
        is_known = form.errors if field is None else field in form.errors and field == "subject"
        if not is_known:
            label = form.fields[field].label if field in (*PLAIN, "on_error") else ""
            own = f'is not valid: the node "{name}" '
            if message.startswith(own):  # the row says which node, and the field which setting
                said = message.removeprefix(own).removeprefix(f"({setting}) ")
                form.add_error(field, f"The step {said}{'' if said.endswith('?') else '.'}")
            else:
                path = (label or setting.capitalize(), *rest[1:])
                form.add_error(field, sentence_of(path, message))


def _steps(stored: Mapping[str, Any]) -> dict[str, Step] | None:
    """Return the steps of a stored workflow if the rows of the form say exactly the same."""
    steps = find_steps(stored) if stored else {}
    if steps is None or len(steps) > MAX_ROWS:
        return None
    output = stored.get("output")
    is_plain = output is None or (output != "" and read_data(write_data(output)) == output)
    return steps if is_plain and survive(steps) else None


def _initial(
    row: Workflow, stored: Mapping[str, Any], steps: Mapping[str, Step] | None
) -> dict[str, Any]:
    """Return the first values of the fields that are no columns."""
    if not stored:
        return {}
    given = {name: stored.get(name) for name in SETTINGS if stored.get(name) is not None}
    return given | {
        "seen": row.updated_at.isoformat(),
        "mode": STEPS if steps is not None else TEXT,
        "text": write_definition(stored),
        "output": write_data(stored.get("output")),
    }
