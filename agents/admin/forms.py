"""The forms of an agent's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import F, Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldBooleanSwitchWidget

from agents.actions.save_agent import VersionConflictError
from agents.admin import strategy_form
from agents.admin.json_fields import JSONListText, JSONObjectText, JSONText, json_widget
from agents.definitions import validation_messages
from agents.definitions.spec import GRANT_SETTINGS, SETTINGS, AgentSpec
from agents.definitions.validation_messages import InvalidSettingError, Path, sentence_of
from agents.llm.references import check_reference
from agents.models import Agent, Skill
from agents.reads.agents import table_of
from agents.reads.skills import skills_in
from heartbit_site.admin.actions import DialogForm
from heartbit_site.admin.permissions import permissions_for
from heartbit_site.admin.saved_by_verb import VerbForm
from heartbit_site.admin.themed import line_widget, text_widget
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.spec import Spec
from heartbit_site.base.visible_text import visible
from heartbit_site.shell.fields import LongText


def skill_choices(request: HttpRequest, workspace_id: int | None) -> list[tuple[str, str]]:
    """Return the skills that an agent can be given, with their descriptions.

    Args:
        request: Of the person who edits the agent.
        workspace_id: The agent's workspace; None: it is new, and may belong to any of theirs.
    """
    if workspace_id is not None:
        rows = skills_in(workspace_id)
    else:
        own = permissions_for(request).rows(Skill.objects.all(), "workspace", "agents:read")
        rows = Skill.objects.filter(Q(workspace=None) | Q(pk__in=own.values("pk")))
        rows = rows.filter(current_version__isnull=False)
    # Of a skill that replaces a shipped one, the last is the workspace's.
    order = ("name", F("workspace_id").asc(nulls_first=True))
    described = rows.order_by(*order).values_list("name", "current_version__snapshot__description")
    return [(name, label_of(name, visible(text))) for name, text in dict(described).items()]


def label_of(name: str, text: str) -> SafeString:
    """Return a choice's label: the name, and below it a text."""
    return format_html(
        '<span class="strong">{}</span><br><span class="quiet">{}</span>', name, text
    )


FIELDS = ("workspace", "name", "team", *(name for name in SETTINGS if name != "context_strategy"))


#: Labels of the settings whose names end with a unit; the others are labelled by their names.
LABELS = {
    name: f"{name.rpartition('_')[0].replace('_', ' ')} ({name.rpartition('_')[2]})".capitalize()
    for name in {*SETTINGS, *GRANT_SETTINGS}
    if name.endswith(("_seconds", "_minutes", "_ms", "_bytes"))
} | {"max_run_cost_usd": "Max run cost (US dollars)", "defaults": "Default arguments"}


def add_complaints(form: forms.BaseForm, model: type[Spec], table: dict[str, Any]) -> None:
    """Show at its field each setting of a table that breaks a rule of its model."""
    for path, message in validation_messages.check(model, table, ()):
        add_complaint(form, path, message)


def add_complaint(form: forms.BaseForm, path: Path, message: str) -> None:
    """Show a complaint at the setting's field, or above the form that has no such field."""
    setting = str(path[0]) if path else ""
    field = "tool" if setting == "name" and "tool" in form.fields else setting
    form.add_error(field if field in form.fields else None, sentence_of(path, message))


class Seen(forms.CharField):
    """Time at which the row that the page shows was saved, sent back with the form."""

    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return False: the field is never edited."""
        return False


def _saved_at(agent: Agent) -> str:
    return agent.updated_at.isoformat()


class AgentForm(VerbForm[Agent], strategy_form.StrategyForm):
    """Fields of an agent, derived from the columns and so from ``AgentSpec``."""

    seen = Seen(required=False)
    skills = forms.MultipleChoiceField(
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text=AgentSpec.model_fields["skills"].description or "",
    )
    #: Skills that can be chosen, with what they do; the page reads them.
    known_skills: Sequence[tuple[str, str]] = ()

    class Meta:
        model = Agent
        fields = FIELDS
        field_classes = {
            "fallback_models": JSONListText,
            "stop": JSONListText,
            "memory_weights": JSONObjectText,
            "response_schema": JSONText,
            "system_prompt": LongText,
        }
        widgets = {
            "system_prompt": text_widget(rows=10),
            "fallback_models": json_widget(rows=2, placeholder='["anthropic:claude-sonnet"]'),
            "stop": json_widget(rows=2, placeholder='["END"]'),
            "response_schema": json_widget(
                rows=12, placeholder='{"type": "object", "properties": {"answer": {...}}}'
            ),
        }
        labels = LABELS | {"stop": "Stop texts"}
        help_texts = {
            "reasoning_effort": (
                "How long a reasoning model thinks before it answers: more costs more tokens and "
                "time. Leave it empty for models that do not reason; they may refuse it."
            ),
            "uncertain_calls": (
                "A worker that dies during a call that must not happen twice leaves its outcome "
                "unknown. Asking is safe; retry only where a second call does no harm."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        strategy = strategy_form.initial(self.instance.context_strategy)
        seen = {"seen": _saved_at(self.instance)} if self.instance.pk is not None else {}
        self.initial = {**strategy, **seen, **self.initial}
        skills: Any = self.fields["skills"]
        gone = set(self.instance.skills) - {name for name, _ in self.known_skills}
        skills.choices = [
            *self.known_skills,
            *((name, label_of(name, "Removed.")) for name in sorted(gone)),
        ]

    def settings(self) -> dict[str, Any]:
        """Return the valid form's settings as a table of ``AgentSpec``; tools are elsewhere."""
        team = sorted(member.name for member in self.cleaned_data["team"])
        return {**table_of(self.instance), "team": team}

    def clean(self) -> dict[str, Any] | None:
        """Read the context strategy; reject members of another workspace, whose names are lost."""
        cleaned = super().clean()
        workspace = self.cleaned_data.get("workspace") or getattr(self.instance, "workspace", None)
        for member in self.cleaned_data.get("team") or ():
            if workspace is not None and member.workspace_id != workspace.pk:
                self.add_error("team", f"{member.name} belongs to another workspace.")
        if not set(strategy_form.FIELDS) & set(self.errors):
            chosen, problems = strategy_form.read(self.cleaned_data)
            for field, problem in problems.items():
                self.add_error(field, problem)
            if chosen is not None:
                self.instance.context_strategy = chosen
        return cleaned

    def _post_clean(self) -> None:
        """Check the settings once the row has its values."""
        super()._post_clean()
        if self.refusal is None and not self.errors:
            # Tools and team are judged together with the rest, when they are saved.
            add_complaints(self, AgentSpec, {**table_of(self.instance), "tools": [], "team": []})

    def show_refusal(self, refusal: HeartbitError) -> None:
        """Show why the agent was not saved; the forms of its tools show what concerns them."""
        if isinstance(refusal, VersionConflictError):
            refuse_outdated(self)
        elif not isinstance(refusal, InvalidSettingError):
            super().show_refusal(refusal)
        elif refusal.field != "tools":
            add_complaint(self, refusal.path, refusal.message)


def refuse_outdated(form: VerbForm[Any]) -> None:
    """Reject settings read before another user saved; the next attempt replaces theirs."""
    sent: Any = form.data
    form.data = sent.copy()
    form.data["seen"] = _saved_at(form.instance)  # type: ignore[index]
    version = form.instance.current_version
    form.add_error(
        None,
        f"Somebody saved this {form.instance.kind} while you edited it, so what you sent was not "
        f"saved. Its current version is {version.number if version is not None else 'none'}: look "
        "under Versions at what they changed. If you save again, what is in this form replaces it.",
    )


class StartRunForm(DialogForm):
    """Task of a new run, and its options."""

    task = forms.CharField(
        widget=text_widget(
            rows=5,
            placeholder="What should the agent do? A workflow takes its input, as text or JSON.",
        ),
        error_messages={"required": "Say what the agent should do."},
    )
    model = forms.CharField(
        required=False,
        max_length=200,
        widget=line_widget(placeholder="provider:model"),
        help_text="For this run and its sub-agents. Empty: each agent's own.",
    )
    approve = forms.BooleanField(
        required=False,
        label="Require approval of every tool call",
        widget=UnfoldBooleanSwitchWidget(),
        help_text="Each call of this run and its sub-agents waits for an approval.",
    )

    def clean_model(self) -> str:
        """Return a ``provider:model``, or an empty string."""
        name: str = self.cleaned_data["model"].strip()
        if name:
            try:
                check_reference(name)
            except ConfigurationError as error:
                raise forms.ValidationError(str(error)) from error
        return name
