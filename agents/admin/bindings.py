"""The tools of an agent's page: which, whether their calls wait for a person, and defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.admin.utils import flatten
from django.utils.text import Truncator
from unfold.widgets import UnfoldAdminSelectWidget

from agents.admin import json_fields
from agents.admin.forms import LABELS, add_complaint, add_complaints
from agents.choices import BindingApproval
from agents.definitions.server_grants import ALL, servers_of
from agents.definitions.spec import GRANT_SETTINGS, ToolGrant
from agents.definitions.validation_messages import InvalidSettingError
from agents.models import Agent, ToolBinding
from agents.reads.agents import grant_table_of
from heartbit_site.admin.themed import StackedInline
from heartbit_site.base.effect_text import describe_effect
from heartbit_site.base.toolspec import Effect
from tools.definitions.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpRequest

    from heartbit_site.base.errors import HeartbitError
    from heartbit_site.base.toolspec import ToolSpec

    _FormSet = forms.BaseInlineFormSet[ToolBinding, Agent, forms.ModelForm[ToolBinding]]
else:
    _FormSet = forms.BaseInlineFormSet


ROWS: tuple[Any, ...] = (
    ("tool", "approval", "enabled"),
    "approval_when",
    ("approval_timeout_seconds", "required_approvals", "approver_group"),
    ("escalate_after_minutes", "escalation_group"),
    "defaults",
    ("credentials", "requires", "timeout_seconds"),
)
ROWS += tuple(name for name in GRANT_SETTINGS if name not in flatten(ROWS))  # new settings


#: What an empty field means. As placeholders: admin.css hides what is not set where no call waits.
UNSET = {
    "approval_timeout_seconds": "As the agent says",
    "required_approvals": "1",
    "approver_group": "All who may decide",
    "escalate_after_minutes": "Never",
    "escalation_group": "All who may decide",
    "requires": "No permission",
    "timeout_seconds": "As the tool and the agent say",
}


class GrantForm(forms.ModelForm[ToolBinding]):
    """Settings with which one tool is given."""

    class Meta:
        model = ToolBinding
        fields: tuple[str, ...] = GRANT_SETTINGS
        field_classes = {
            "approval_when": json_fields.OptionalJSONObjectText,
            "defaults": json_fields.JSONObjectText,
            "credentials": json_fields.JSONObjectText,
            "knowledge_bases": json_fields.JSONListText,
        }
        labels = LABELS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, meaning in UNSET.items():
            self.fields[name].widget.attrs["placeholder"] = meaning
        approval: Any = self.fields["approval"]
        approval.choices = [("", "As the agent says"), *BindingApproval.choices]
        self.fields["required_approvals"].required = False
        self.fields["required_approvals"].initial = None
        if self.initial.get("required_approvals") == 1:
            self.initial["required_approvals"] = None

    def clean_required_approvals(self) -> int:
        """Nothing is one."""
        given: int | None = self.cleaned_data["required_approvals"]
        return 1 if given is None else given

    def clean(self) -> dict[str, Any] | None:
        """Require the rule of ``when``; discard that of another choice, which hides its field."""
        cleaned = super().clean()
        if self.cleaned_data.get("approval") != BindingApproval.WHEN:
            self.cleaned_data["approval_when"] = None
            self.errors.pop("approval_when", None)
        elif self.cleaned_data.get("approval_when") is None and not self.errors:
            self.add_error("approval_when", "Write the rule: a JSON Schema of the arguments.")
        return cleaned

    def _post_clean(self) -> None:
        """Check the settings once the row has its values."""
        super()._post_clean()  # type: ignore[misc]  # not in the stubs
        if not self.errors:
            add_complaints(self, ToolGrant, grant_table_of(self.instance))


class ToolBindingForm(GrantForm):
    """One tool, chosen from the installed ones, and how it is given."""

    class Meta(GrantForm.Meta):
        fields = ("tool", *GRANT_SETTINGS)
        widgets = {
            "approval_when": json_fields.json_widget(
                rows=4, placeholder='{"properties": {"path": {"pattern": "^/etc/"}}}'
            ),
            "defaults": json_fields.json_widget(rows=2, placeholder='{"language": "en"}'),
            "credentials": json_fields.json_widget(
                rows=2, placeholder='{"mail": "support mailbox"}'
            ),
            "knowledge_bases": json_fields.json_widget(rows=1, placeholder='["handbook"]'),
        }

    #: What can be chosen; a page reads it once for all of its forms.
    known: Mapping[str, ToolSpec] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known = catalogue(None) if self.known is None else self.known
        tool: Any = self.fields["tool"].widget
        tool.choices = tool_choices(self._known, self.instance.tool)


class ToolBindingFormSet(_FormSet):
    """Tools of one agent.

    Attributes:
        refusal: The error of saving what was sent; shown at the tool that it concerns.
    """

    refusal: HeartbitError | None = None

    def grants(self) -> list[dict[str, Any]]:
        """Return the tools as tables of ``ToolGrant``."""
        return [grant_table_of(form.instance) for form in self._kept()]

    def clean(self) -> None:
        """Show at its field why a tool was not saved."""
        super().clean()
        if isinstance(self.refusal, InvalidSettingError) and self.refusal.field == "tools":
            index, path = self.refusal.path[1], self.refusal.path[2:]
            add_complaint(self._kept()[int(index)], path, self.refusal.message)

    def _kept(self) -> list[Any]:
        """Return the forms of tools that stay or are new, in the order of ``grants``."""
        return [
            form
            for form in self.forms
            if not form.cleaned_data.get("DELETE") and (form.instance.pk or form.has_changed())
        ]


class ToolBindingInline(StackedInline[ToolBinding, Agent]):
    """The tools an agent is given."""

    model = ToolBinding
    form = ToolBindingForm
    formset = ToolBindingFormSet
    classes = ("hb-bindings",)
    fieldsets = ((None, {"fields": ROWS}),)
    verbose_name = "tool"
    verbose_name_plural = "tools"
    extra = 0
    tab = True
    hide_title = True

    def get_formset(self, request: HttpRequest, obj: Agent | None = None, **kwargs: Any) -> Any:
        """Forms that offer the tools of the agent's workspace."""
        formset: Any = super().get_formset(request, obj, **kwargs)
        formset.form.known = catalogue(None if obj is None else obj.workspace_id)
        formset.refusal = getattr(request, "heartbit_refusal", None)
        return formset

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer a list of tools instead of a line of text."""
        if db_field.name == "tool":
            kwargs |= {"widget": UnfoldAdminSelectWidget(), "help_text": ""}
        return super().formfield_for_dbfield(db_field, request, **kwargs)


def tool_choices(known: Mapping[str, ToolSpec], current: str = "") -> list[tuple[str, Any]]:
    """Return tools by effect class; ``current`` is offered even when it is not among them."""
    choices: list[tuple[str, Any]] = [("", "Select a tool")]
    for effect in Effect:
        tools = [
            (spec.name, f"{spec.name} · {_sentence(spec.description)}")
            for spec in known.values()
            if spec.effect is effect
        ]
        if tools:
            name = effect.value.replace("_", " ").capitalize()
            choices.append((f"{name}: {describe_effect(effect)}", sorted(tools)))
    servers = servers_of(known)
    if servers:
        names = [
            (name, f"{name} · All {len(found)} of its tools") for name, found in servers.items()
        ]
        choices.insert(
            1, ("MCP servers: all tools that one has when the agent is published", names)
        )
    if current and current not in known and current not in servers:
        fault = "the server has no tools now" if current.endswith(ALL) else "no longer installed"
        choices.append((current, f"{current} · {fault}"))
    return choices


def _sentence(description: str) -> str:
    return Truncator(description.partition("\n")[0].partition(". ")[0]).chars(90)
