"""Agents in the admin: edit one, publish it by saving, start a run."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import flatten
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils.html import escape

from agents.admin import strategy_form
from agents.admin.agent_list import AgentList
from agents.admin.bindings import ToolBindingFormSet
from agents.admin.forms import AgentForm, skill_choices
from agents.admin.run_start import RunStart, remove_definition, save_definition
from agents.admin.templates import FromTemplates, TemplateBindingInline
from agents.admin.version import VersionInline
from agents.definitions.advice import advice
from agents.definitions.kinds import AGENT, UnknownKindError, find_kind
from agents.definitions.spec import SETTINGS, AgentSpec
from agents.models import Agent
from agents.models.workflow import KIND as WORKFLOW
from heartbit_site.admin.columns import Column
from heartbit_site.admin.saved_by_verb import VerbAdmin
from heartbit_site.admin.themed import json_block, tabs
from tools.definitions.catalogue import catalogue

TABS: dict[str, tuple[Any, ...]] = {
    "Prompt": ("system_prompt",),
    "Model": (
        *("model", "fallback_models", "strong_model"),
        ("temperature", "reasoning_effort", "max_tokens"),
        "stop",
        ("max_retries", "retry_base_delay_ms", "retry_max_delay_ms"),
    ),
    "Approval": (
        ("approval", "approval_timeout_seconds"),
        ("uncertain_calls", "mixed_data"),
        ("execution_mode", "code_mode"),
        *("review", ("review_timeout_seconds", "review_escalate_after_minutes")),
    ),
    "Skills": ("skills",),
    "Memory": ("memory", "memory_tokens", "memory_weights", "extract_memories", "extraction_model"),
    "Answer": ("response_schema",),
    "Conversation": strategy_form.FIELDS,
    "Team": ("team", ("max_parallel", "delegation_timeout_seconds")),
    "Limits": (
        ("max_turns", "timeout_seconds"),
        ("max_run_tokens", "max_run_cost_usd"),
        ("tool_timeout_seconds", "max_tool_output_bytes"),
        *("max_runs_per_minute", "queue"),
    ),
}
_PLACED = {name for rows in TABS.values() for name in flatten(rows)}
_PLACED |= {"description", "enabled", "context_strategy"}
# A new setting is on the page before a better place is chosen for it.
TABS["Limits"] += tuple(name for name in SETTINGS if name not in _PLACED)


@admin.register(Agent)
class AgentAdmin(VerbAdmin[Agent], FromTemplates, RunStart, AgentList):
    """Agents that people edit. Saving publishes a version; runs are pinned to versions."""

    sortable_by = None
    form = AgentForm
    remove = staticmethod(remove_definition)
    filter_horizontal = ("team",)
    inlines = (TemplateBindingInline, VersionInline)
    conditional_fields = strategy_form.conditions()
    fieldsets: ClassVar[Any] = (
        (None, {"fields": (("workspace", "name"), "description", "now", "seen")}),
        *tabs(TABS),
    )

    # ---------------------------------------------------------------------------------------- form

    def has_change_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """Return False for a row of another kind: this is an agent's form."""
        return _is_here(obj) and super().has_change_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        """Show what a row of another kind defines, and where it is changed."""
        if obj is None or _is_here(obj):
            return super().get_fieldsets(request, obj)
        shown = (("workspace", "name"), "description", "now", "settings")
        return ((None, {"fields": shown, "description": escape(_where_changed(obj))}),)

    def get_inlines(self, request: HttpRequest, obj: Agent | None) -> Any:
        """Show the versions of a row of another kind, without tools to bind."""
        return super().get_inlines(request, obj) if _is_here(obj) else (VersionInline,)

    settings = Column[Agent]("settings", lambda row: json_block(row.definition))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *place: Any, **more: Any
    ) -> Any:
        """Show a workflow on its own page."""
        row = more.get("obj")
        if row is not None and row.kind == WORKFLOW:
            return redirect("admin:agents_workflow_change", row.pk)
        return super().render_change_form(request, context, *place, **more)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the agents of the same workspace as a team."""
        if db_field.name == "team":
            kwargs["queryset"] = _colleagues(request)
        field = super().formfield_for_manytomany(db_field, request, **kwargs)
        if field is not None and _edited(request) is None:  # a new agent may belong anywhere
            field.label_from_instance = _with_workspace
        return field

    def get_form(self, request: HttpRequest, *place: Any, **options: Any) -> Any:
        """Return the form with the skills that the agent can be given."""
        form: Any = super().get_form(request, *place, **options)
        agent = place[0] if place else None
        form.known_skills = skill_choices(request, None if agent is None else agent.workspace_id)
        return form

    # ---------------------------------------------------------------------------------------- save

    def save_row(self, request: HttpRequest, row: Agent, form: Any) -> None:
        """Write nothing yet: ``save_related`` has the tools too."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        """Save the agent with its tools and team, publish it, and report the versions."""
        for formset in formsets:
            formset.save(commit=False)  # writes nothing; Django's history reads what changed
        [tools] = [formset for formset in formsets if isinstance(formset, ToolBindingFormSet)]
        spec = AgentSpec.model_validate({**form.settings(), "tools": tools.grants()})
        seen = form.cleaned_data["seen"]
        save_definition(request, form.instance, spec, seen=seen, is_new=not change)
        for sentence in advice(spec, catalogue(form.instance.workspace_id)):
            messages.warning(request, sentence)


def _is_here(agent: Agent | None) -> bool:
    """Return True if an agent's form shows all that the row defines."""
    return agent is None or agent.kind == AGENT.name


def _where_changed(agent: Agent) -> str:
    try:
        find_kind(agent.kind, agent.name)
    except UnknownKindError as error:
        return str(error)
    return f"{agent.name} is of the kind {agent.kind}: change it with heartbit config import."


def _edited(request: HttpRequest) -> str | None:
    """Return the id of the agent on this page; None on the page that adds one."""
    return request.resolver_match.kwargs.get("object_id") if request.resolver_match else None


def _with_workspace(agent: Any) -> str:
    return f"{agent.name} ({agent.workspace.slug})"


def _colleagues(request: HttpRequest) -> QuerySet[Agent]:
    """Return the agents that the one on this page may have in its team."""
    own = _edited(request)
    agents = Agent.objects.filter(origin="").order_by("workspace", "name")
    if own is None:
        return agents.select_related("workspace")
    workspace = Agent.objects.filter(pk=own).values("workspace")
    return agents.filter(workspace__in=workspace).exclude(pk=own)
