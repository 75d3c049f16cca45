"""The forms of an agent's page."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.text import Truncator

from agents.llm.providers import PROVIDERS
from agents.models import Agent, ToolBinding
from heartbit_site.base.admin.themed import DialogForm, line_widget, text_widget
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import Effect
from tools.registry import registry

EFFECTS = {
    Effect.PURE: "Pure: may run again",
    Effect.IDEMPOTENT: "Idempotent: runs again with the same key",
    Effect.TRANSACTIONAL: "Transactional: exactly once, with its result",
    Effect.AT_MOST_ONCE: "At most once: never repeated by itself",
}


FIELDS = (
    *("workspace", "name", "description", "system_prompt", "model", "temperature", "max_tokens"),
    *("max_turns", "timeout_seconds", "tool_timeout_seconds", "max_tool_output_bytes"),
    *("team", "max_parallel", "delegation_timeout_seconds", "queue"),
)


def check_model(name: str) -> str:
    """A ``provider:model``, or nothing.

    Raises:
        ValidationError: It has another form, or nobody knows the provider.
    """
    name = name.strip()
    provider, _, model = name.partition(":")
    if name and (provider not in PROVIDERS or not model.strip()):
        known = ", ".join(PROVIDERS)
        raise forms.ValidationError(f"Write provider:model; the providers are {known}.")
    return name


class AgentForm(forms.ModelForm[Agent]):
    """An agent's own fields.

    Attributes:
        refusal: Why publishing what was sent failed; set by the page, which then shows the form.
    """

    refusal = ""

    class Meta:
        model = Agent
        fields = FIELDS
        widgets = {"system_prompt": text_widget(rows=10)}

    def clean_model(self) -> str:
        """See ``check_model``."""
        return check_model(self.cleaned_data["model"])

    def clean(self) -> dict[str, Any] | None:
        """A team is made of other agents of the same workspace."""
        cleaned = super().clean()
        workspace = self.cleaned_data.get("workspace") or getattr(self.instance, "workspace", None)
        for member in self.cleaned_data.get("team") or ():
            if workspace is not None and member.workspace_id != workspace.pk:
                self.add_error("team", f"{member.name} belongs to another workspace.")
            if member.pk == self.instance.pk:
                self.add_error("team", f"{member.name} cannot be in its own team.")
        if self.refusal:
            raise forms.ValidationError(self.refusal)
        return cleaned


class ToolBindingForm(forms.ModelForm[ToolBinding]):
    """One tool, chosen from the installed ones."""

    class Meta:
        model = ToolBinding
        fields = ("tool", "enabled")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["tool"].widget
        if isinstance(widget, forms.Select):
            widget.choices = tool_choices(self.instance.tool)


def tool_choices(current: str = "") -> list[tuple[str, Any]]:
    """The installed tools by effect class; ``current`` is offered even when it is not installed."""
    choices: list[tuple[str, Any]] = [("", "Select a tool")]
    for effect, title in EFFECTS.items():
        tools = [
            (spec.name, f"{spec.name} · {_sentence(spec.description)}")
            for spec in registry.values()
            if spec.effect is effect
        ]
        if tools:
            choices.append((title, sorted(tools)))
    if current and current not in registry:
        choices.append((current, f"{current} · not installed any more"))
    return choices


def _sentence(description: str) -> str:
    return Truncator(description.partition("\n")[0].partition(". ")[0]).chars(90)


class StartRunForm(DialogForm):
    """What an agent is asked to do."""

    task = forms.CharField(
        widget=text_widget(rows=5, placeholder="What should the agent do?"),
        error_messages={"required": "Say what the agent should do."},
    )
    model = forms.CharField(
        required=False,
        max_length=200,
        widget=line_widget(placeholder="provider:model"),
        help_text="For this run and its sub-agents. Empty: each agent's own.",
    )

    def clean_model(self) -> str:
        """See ``check_model``."""
        return check_model(self.cleaned_data["model"])


def default_workspace() -> Workspace | None:
    """The workspace a new agent is offered first."""
    return Workspace.objects.order_by("pk").first()
