"""A new agent: its name and what it does, from a template or from nothing; then its studio."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from agents.actions.save_agent import create_agent
from agents.admin.templates import free_name
from agents.definitions.spec import AgentSpec
from agents.definitions.templates import TEMPLATES, AgentTemplate
from agents.definitions.validation_messages import InvalidSettingError
from agents.models import Agent
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import HeartbitError
from heartbit_site.web.page import page, show


class NewAgentForm(forms.Form):
    """First settings of an agent; all others are set in its studio."""

    name = forms.CharField(
        max_length=64, help_text="For people and other agents, e.g. researcher. It stays."
    )
    description = forms.CharField(
        required=False,
        max_length=2000,
        help_text="Sentence by which an orchestrator chooses an agent for a task.",
    )
    system_prompt = forms.CharField(
        label="Prompt",
        strip=False,
        widget=forms.Textarea({"rows": 8}),
        help_text="The agent's role and instructions.",
    )


@require_http_methods(["GET", "POST"])
@page("agents:write")
def new_agent(request: HttpRequest, access: Access) -> HttpResponse:
    """Show the form, filled from the template that the address names; a POST creates the agent."""
    template = TEMPLATES.get(request.GET.get("template", ""))
    initial = _proposed(access, template) if template is not None else None
    form = NewAgentForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid() and _create(access, form, template):
        name = form.cleaned_data["name"]
        messages.success(request, f"{name} is published as v1. Here it can be tried and changed.")
        return redirect("web:agent", access.workspace.slug, name)
    context = {"form": form, "template": template, "templates": TEMPLATES.values()}
    status = 409 if form.errors else 200
    return show(request, access, "web/agent_new.html", context, here="agents", status=status)


def _proposed(access: Access, template: AgentTemplate) -> dict[str, Any]:
    own = Agent.objects.filter(workspace=access.workspace, origin="")
    taken = own.filter(name__startswith=template.name).values_list("name", flat=True)
    proposed = template.model_dump(include=set(NewAgentForm.base_fields))
    return proposed | {"name": free_name(template.name, taken)}


def _create(access: Access, form: NewAgentForm, template: AgentTemplate | None) -> bool:
    begun: dict[str, Any] = {}
    if template is not None:
        begun = template.model_dump(include=set(AgentSpec.model_fields))
    try:
        spec = AgentSpec.model_validate({**begun, **form.cleaned_data})
        create_agent(access.workspace, spec, by=actor_of(access))
    except ValidationError as error:
        for one in error.errors():
            _refuse(form, str(one["loc"][0]), one["msg"].removeprefix("Value error, "))
    except InvalidSettingError as error:
        _refuse(form, str(error.path[0]), f"{error.path[-1]} {error.message}.")
    except HeartbitError as error:
        _refuse(form, error.field or "", str(error))
    return not form.errors


def _refuse(form: NewAgentForm, field: str, sentence: str) -> None:
    form.add_error(field if field in form.fields else None, sentence)
