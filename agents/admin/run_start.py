"""Shared parts of the pages of agents and of workflows: save a definition, and start a run."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from agents.actions.admit import admit
from agents.actions.remove_agent import remove_agent, uses_of
from agents.actions.run_request import RunRequest
from agents.actions.save_agent import change_agent, create_agent
from agents.admin.agent_list import AgentList
from agents.admin.formatting import run_url
from agents.admin.forms import StartRunForm
from agents.admin.skill_versions import report_republished
from agents.definitions.spec import DefinitionSpec
from agents.models import Agent
from heartbit_site.admin.actions import actor_of, dialog, page_action
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.themed import ModelAdmin
from heartbit_site.base.amounts import counted
from heartbit_site.base.audit import Actor


class RunStart(ModelAdmin[Any]):
    """Page of a definition: buttons that start a run, and that open the conversations."""

    needs: ClassVar = rights(
        "agents:read", "agents:write", switch="agents:write", start="runs:write"
    )
    readonly_fields = ("now",)
    fixed = ("workspace", "name")  # runs, channels and conversations refer to them
    warn_unsaved_form = True
    actions_detail = ("start", "open_chat", *AgentList.switches)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what a deletion touches, and why one is refused: runs and versions stay."""
        said = [line for agent in objs for line in _touched(agent)]
        return said, {str(self.opts.verbose_name_plural): len(objs)}, set(), []

    @page_action("Open chat", icon="forum", permission="start")
    def open_chat(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the agent's page in its workspace."""
        agent = self.get_object(request, object_id)
        if agent is None:
            return redirect(f"admin:agents_{self.opts.model_name}_changelist")
        return redirect(f"/w/{agent.workspace.slug}/chat/{agent.name}/")

    @dialog(
        "Run now",
        "The fleet executes the run; its page shows it live.",
        icon="play_arrow",
        permission="start",
        submit="Start",
        form=StartRunForm,
        refused_at="task",
    )
    def start(self, request: HttpRequest, agent: Agent, form: StartRunForm) -> str:
        """Start a run and go to its page."""
        asked = form.cleaned_data
        with transaction.atomic():
            wanted = RunRequest(
                agent.workspace,
                asked["task"],
                agent=agent.name,
                model=asked["model"],
                approve=asked["approve"],
                by=actor_of(request),
            )
            run = admit(wanted).run_id
            self.note(request, "start_run", agent, {"run": str(run)})
        return run_url(agent.workspace, run)


def save_definition(
    request: HttpRequest, row: Agent, spec: DefinitionSpec, *, seen: str, is_new: bool
) -> None:
    """Write the settings of a form, publish them, and say which versions were published.

    Args:
        request: Theirs who save.
        row: The agent or workflow; a new one gets its key.
        spec: All settings of the form.
        seen: Time of the last save that the form shows, in ISO 8601; empty: any.
        is_new: True to create the row.
    """
    by = actor_of(request)
    if is_new:
        written = create_agent(row.workspace, spec, by=by)
        row.pk = written.row.pk
    else:
        given = type(spec).model_fields.keys() - {"enabled"}
        written = change_agent(row.workspace, row.name, spec, given, by=by, saved_at=seen or None)
    made = written.made
    if made is not None:
        number = made.version.number
        if made:
            messages.success(request, f"Published: runs from now on use v{number}.")
        else:
            messages.info(request, f"Nothing that its runs see has changed: v{number}.")
    report_republished(request, written.led)


def remove_definition(agent: Agent, *, by: Actor) -> None:
    """Delete an agent or a workflow with ``remove_agent``."""
    remove_agent(agent.workspace, agent.name, by=by)


def _touched(agent: Agent) -> list[str]:
    uses = uses_of(agent)
    if uses.refusal:
        return [uses.refusal]
    kept = f"{counted(uses.runs, 'run')} and {counted(uses.conversations, 'conversation')}"
    gone = f"{counted(uses.budgets, 'budget')} and {counted(uses.grants, 'standing permission')}"
    return [f"{agent.name}, with {gone}. What stays: {kept}, and all versions."]
