"""Agents in the admin: edit one, publish it by saving, start a run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html

from agents.actions.publish_agent import publish_agent
from agents.actions.start_run import start_run
from agents.admin import queries, strategy_form, words
from agents.admin.bindings import ToolBindingInline
from agents.admin.forms import AgentForm, StartRunForm
from agents.admin.switches import AgentSwitches
from agents.choices import RunStatus
from agents.models import Agent, AgentVersion
from heartbit_site.base.admin.themed import (
    ModelAdmin,
    ReadOnlyInline,
    ask_again,
    dialog,
    page_action,
    pill,
)
from heartbit_site.base.errors import ConfigurationError, HeartbitError

if TYPE_CHECKING:
    from django import forms
    from django.db.models import ManyToManyField, QuerySet
    from django.utils.safestring import SafeString

TAB = ("tab",)


class VersionInline(ReadOnlyInline[AgentVersion, Agent]):
    """What was published, newest first."""

    model = AgentVersion
    fk_name = "agent"
    fields = ("page", "standing", "pinned", "created_at", "short_hash", "compared")
    readonly_fields = fields
    verbose_name_plural = "versions"
    tab = True
    hide_title = True
    per_page = 20

    @admin.display(description="version")
    def page(self, version: AgentVersion) -> SafeString:
        """Its number, as a link to its snapshot."""
        url = reverse("admin:agents_agentversion_change", args=[version.pk])
        return format_html('<a class="hb-link" href="{}">v{}</a>', url, version.number)

    @admin.display(description="hash")
    def short_hash(self, version: AgentVersion) -> str:
        """As much of the hash as tells versions apart."""
        return version.hash[:12]

    @admin.display(description="state")
    def standing(self, version: AgentVersion) -> SafeString | str:
        """Whether the next runs get it."""
        current = version.pk == version.agent.current_version_id
        return pill("Current", tone="success") if current else ""

    @admin.display(description="runs")
    def pinned(self, version: AgentVersion) -> int:
        """How many runs have it."""
        count: int = getattr(version, "run_count", 0)
        return count

    @admin.display(description="compare")
    def compared(self, version: AgentVersion) -> SafeString | str:
        """What differs from the current one, where it can be brought back."""
        if version.pk == version.agent.current_version_id:
            return ""
        url = reverse("admin:agents_agentversion_compare", args=[version.pk])
        return format_html('<a class="hb-link" href="{}">Compare, roll back</a>', url)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentVersion]:
        """With how many runs each has."""
        versions = super().get_queryset(request).select_related("agent")
        return versions.annotate(run_count=Count("runs")).order_by("-number")


class PublishRefusedError(Exception):
    """What was sent cannot be published; everything saved for it is rolled back."""


@admin.register(Agent)
class AgentAdmin(AgentSwitches, ModelAdmin[Agent]):
    """What people edit. Saving publishes a version; runs are pinned to versions."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {
        "view": "agents:read",
        "add": "agents:write",
        "change": "agents:write",
        "switch": "agents:write",
        "start": "runs:write",
    }
    form = AgentForm
    list_display = ("who", "state", "uses", "members", "published", "last_status", "last_time")
    list_display_links = ("who",)
    list_select_related = ("current_version", "workspace")
    list_filter = ("workspace", "enabled")
    search_fields = ("name", "description")
    warn_unsaved_form = True
    filter_horizontal = ("team",)
    inlines = (ToolBindingInline, VersionInline)
    actions = ("start_again", "stop")
    actions_detail = ("start", "open_chat", *AgentSwitches.switches)
    conditional_fields = strategy_form.conditions()
    fieldsets = (
        (None, {"fields": ("workspace", "name", "description", "system_prompt", "now")}),
        (
            "Model",
            {
                "classes": TAB,
                "fields": (
                    *("model", "fallback_models", "strong_model"),
                    *("temperature", "reasoning_effort"),
                    *("max_tokens", "stop"),
                    *("max_retries", "retry_base_delay_ms", "retry_max_delay_ms"),
                ),
            },
        ),
        ("Approval", {"classes": TAB, "fields": ("approval", "uncertain_calls")}),
        ("Answer", {"classes": TAB, "fields": ("response_schema",)}),
        ("Conversation", {"classes": TAB, "fields": strategy_form.FIELDS}),
        (
            "Limits",
            {
                "classes": TAB,
                "fields": (
                    *("max_turns", "timeout_seconds"),
                    *("max_run_tokens", "max_run_cost_usd"),
                    *("tool_timeout_seconds", "max_tool_output_bytes"),
                ),
            },
        ),
        (
            "Team",
            {"classes": TAB, "fields": ("team", "max_parallel", "delegation_timeout_seconds")},
        ),
        ("Execution", {"classes": TAB, "fields": ("queue",)}),
    )

    # ---------------------------------------------------------------------------------------- list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        """What people edit; on the list with the team, the newest run and whether one is live."""
        agents = super().get_queryset(request).filter(origin="")
        if request.resolver_match and request.resolver_match.url_name == "agents_agent_changelist":
            return queries.with_runs(agents).prefetch_related("team")
        return agents

    @admin.display(description="agent", ordering="name")
    def who(self, agent: Agent) -> SafeString:
        """Name and description."""
        return format_html(
            '<span class="hb-two"><b>{}</b><span class="hb-clip">{}</span></span>',
            agent.name,
            agent.description,
        )

    @admin.display(description="state")
    def state(self, agent: Agent) -> SafeString:
        """Whether it works, could, or must not."""
        return words.agent_pill(_state(agent))

    @admin.display(description="model", ordering="model")
    def uses(self, agent: Agent) -> str:
        """Its model."""
        return agent.model or "default"

    @admin.display(description="team")
    def members(self, agent: Agent) -> str:
        """Who it may delegate to."""
        return ", ".join(member.name for member in agent.team.all()) or "-"

    @admin.display(description="version")
    def published(self, agent: Agent) -> str:
        """What its next run is pinned to."""
        version = agent.current_version
        return f"v{version.number}" if version else "not published"

    @admin.display(description="last run")
    def last_status(self, agent: Agent) -> SafeString:
        """How the newest run is doing, as a link to it."""
        run = _last_run(agent)
        if run is None:
            return pill("never")
        url = reverse("admin:agents_run_change", args=[run["id"]])
        return format_html('<a href="{}">{}</a>', url, words.run_pill(run["status"]))

    @admin.display(description="when")
    def last_time(self, agent: Agent) -> str:
        """When the newest run was accepted."""
        run = _last_run(agent)
        return words.clock(datetime.fromisoformat(run["at"])) if run else "-"

    # ---------------------------------------------------------------------------------------- form

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """Runs are pinned to an agent's versions: it is kept as long as the installation."""
        return False

    def get_readonly_fields(
        self, request: HttpRequest, obj: Agent | None = None
    ) -> tuple[str, ...]:
        """An agent stays in its workspace: its runs and its team are there."""
        return ("workspace", "now") if obj else ("now",)

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> forms.ModelMultipleChoiceField[Any] | None:
        """A team is chosen from the agent's own workspace."""
        if db_field.name == "team":
            kwargs["queryset"] = _colleagues(request)
        field: Any = super().formfield_for_manytomany(db_field, request, **kwargs)
        if field is not None and _edited(request) is None:  # a new agent may belong anywhere
            field.label_from_instance = _with_workspace
        return cast("forms.ModelMultipleChoiceField[Any] | None", field)

    def get_form(
        self,
        request: HttpRequest,
        obj: Agent | None = None,
        change: bool = False,  # noqa: FBT001, FBT002  Django\'s signature
        **kwargs: Any,
    ) -> type[forms.ModelForm[Agent]]:
        """The form, with the reason why its content was refused a moment ago."""
        form = super().get_form(request, obj, change=change, **kwargs)
        form.refusal = getattr(request, "heartbit_refusal", "")  # type: ignore[attr-defined]
        return form

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Django saves in one transaction; a refusal rolls it back and becomes the form's error."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except PublishRefusedError as refused:
            request.heartbit_refusal = str(refused)  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, extra_context)

    def save_related(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Any,
        change: bool,  # noqa: FBT001  Django\'s signature
    ) -> None:
        """Team and tools are saved: publish what the agent is now."""
        super().save_related(request, form, formsets, change)
        agent: Agent = form.instance
        before = agent.current_version_id
        try:
            version = publish_agent(agent)
        except ConfigurationError as error:
            raise PublishRefusedError(str(error)) from error
        if version.pk == before:
            messages.info(request, f"Nothing that its runs see has changed: v{version.number}.")
        else:
            messages.success(request, f"Published: runs from now on use v{version.number}.")
        self._publish_leaders(request, agent)

    @staticmethod
    def _publish_leaders(request: HttpRequest, agent: Agent) -> None:
        """What an orchestrator is told of its team is part of its own version."""
        for leader in agent.orchestrators.all():
            before = leader.current_version_id
            try:
                version = publish_agent(leader)
            except ConfigurationError as error:  # its own affair: this agent is published
                messages.warning(request, f"{leader.name} was not published again: {error}")
                continue
            if version.pk != before:
                messages.success(request, f"Published as well: {leader.name} v{version.number}.")

    # ------------------------------------------------------------------------------------- actions

    @admin.action(description="Start", permissions=["change"])
    def start_again(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        """They take runs again, and what they had goes on."""
        count = self._switch_all(request, agents, "start")
        messages.success(request, f"{words.counted(count, 'agent')} started.")

    @admin.action(description="Stop", permissions=["change"])
    def stop(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        """They take no runs; what is at work is handed back, and goes on when they are started."""
        count = self._switch_all(request, agents, "stop")
        messages.success(
            request,
            f"{words.counted(count, 'agent')} stopped. Live runs are kept, and go on at its start.",
        )

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Of start, restart and stop those that do something now."""
        offered: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        now = self.offered_switches(self.get_object(request, object_id))
        return [one for one in offered if one.path not in self.switches or one.path in now]

    def has_start_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        """Starting a run adds one."""
        return self.may(request, "start", object_id)

    @page_action(label="Open chat", icon="forum", permissions=["start"])
    def open_chat(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The agent's page in its workspace."""
        agent = self.get_object(request, object_id)
        if agent is None:
            return redirect("admin:agents_agent_changelist")
        return redirect(f"/w/{agent.workspace.slug}/chat/{agent.name}/")

    @dialog(
        StartRunForm,
        label="Run now",
        explanation="The fleet executes it; you watch it on its live page.",
        submit="Start",
        icon="play_arrow",
        permissions=["start"],
    )
    def start(self, request: HttpRequest, form: StartRunForm, object_id: str) -> HttpResponse:
        """Start a run and go to its page."""
        agent = self.get_object(request, object_id)
        if agent is None:
            return HttpResponse(headers={"HX-Redirect": reverse("admin:agents_agent_changelist")})
        asked = form.cleaned_data
        try:
            with transaction.atomic():
                run = start_run(
                    agent.workspace,
                    asked["task"],
                    agent=agent.name,
                    model=asked["model"],
                    approve=asked["approve"],
                )
                self.note(request, "start_run", agent, {"run": str(run)})
        except HeartbitError as error:
            form.add_error("task", str(error))
            return ask_again(request, form, submit="Start")
        url = reverse("web:run", args=[agent.workspace.slug, run])
        return HttpResponse(headers={"HX-Redirect": url})


def _last_run(agent: Agent) -> dict[str, str] | None:
    found: dict[str, str] | None = getattr(agent, "last_run", None)
    return found


def _state(agent: Agent) -> str:
    """As ``agents.metrics`` has it, from what the list has read already."""
    if not agent.enabled:
        return "stopped"
    if getattr(agent, "has_live_run", False):
        return "busy"
    run = _last_run(agent)
    failed = run is not None and run["status"] in (RunStatus.FAILED, RunStatus.QUARANTINED)
    return "error" if failed else "idle"


def _edited(request: HttpRequest) -> str | None:
    """The id of the agent on this page; None on the page that adds one."""
    return request.resolver_match.kwargs.get("object_id") if request.resolver_match else None


def _with_workspace(agent: Any) -> str:
    return f"{agent.name} ({agent.workspace.slug})"


def _colleagues(request: HttpRequest) -> QuerySet[Agent]:
    """The agents that the one on this page may have in its team."""
    own = _edited(request)
    agents = Agent.objects.filter(origin="").order_by("workspace", "name")
    if own is None:
        return agents.select_related("workspace")
    workspace = Agent.objects.filter(pk=own).values("workspace")
    return agents.filter(workspace__in=workspace).exclude(pk=own)
