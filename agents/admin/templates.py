"""Adding an agent from a template: a page of cards, and the form that a card fills."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agents.admin import strategy_form
from agents.admin.bindings import ToolBindingInline
from agents.definitions.spec import ToolGrant
from agents.definitions.templates import TEMPLATES, AgentTemplate
from agents.models import Agent
from heartbit_site.admin.actions import page_action
from heartbit_site.admin.themed import ModelAdmin

ASKED = "template"  # the parameter of the address of the form
_PLAIN = (
    *("description", "system_prompt", "max_turns", "timeout_seconds", "max_run_tokens"),
    *("skills", "memory"),
)


class FromTemplates(ModelAdmin[Agent]):
    """A button on the agents' list. Until the form is saved, nothing is kept."""

    actions_list = ("add_from_template",)

    @page_action("Add from a template", icon="dashboard_customize", permission="add")
    def add_from_template(self, request: HttpRequest) -> HttpResponse:
        """Show the templates; each leads to the form that adds an agent."""
        context = {
            **self.admin_site.each_context(request),
            "title": "Add an agent from a template",
            "templates": TEMPLATES.values(),
        }
        return render(request, "admin/agents/agent/templates.html", context)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the template's values over those of every new agent."""
        initial = super().get_changeform_initial_data(request)
        template = _asked(request)
        if template is None:
            return initial
        own = Agent.objects.filter(origin="", name__startswith=template.name)
        taken = _names(self.reached(request, own, "add"), initial["workspace"])
        return initial | _fields(template) | {"name": free_name(template.name, taken)}

    def get_formset_kwargs(
        self, request: HttpRequest, obj: Agent, inline: Any, prefix: str
    ) -> dict[str, Any]:
        """Propose the template's tools until the form is sent."""
        made: dict[str, Any] = super().get_formset_kwargs(request, obj, inline, prefix)
        template = _asked(request)
        proposes = template is not None and request.method == "GET" and obj.pk is None
        if template is not None and proposes and isinstance(inline, TemplateBindingInline):
            made["initial"] = [_binding(tool) for tool in template.tools]
        return made

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *place: Any, **more: Any
    ) -> Any:
        """Show the template's name and what is left to do."""
        if context.get("add", more.get("add")):
            context["from_template"] = _asked(request)
        return super().render_change_form(request, context, *place, **more)


class TemplateBindingInline(ToolBindingInline):
    """The tools of an agent; on the form that adds one, room for those of the chosen template."""

    def get_extra(self, request: HttpRequest, obj: Agent | None = None, **options: Any) -> int:
        """Return the number of the template's tools."""
        template = _asked(request)
        return len(template.tools) if template is not None and obj is None else 0


def _asked(request: HttpRequest) -> AgentTemplate | None:
    """Return the template that the address names; None: it names none, or an unknown one."""
    return TEMPLATES.get(request.GET.get(ASKED, ""))


def _fields(template: AgentTemplate) -> dict[str, Any]:
    plain = {name: getattr(template, name) for name in _PLAIN}
    return plain | strategy_form.initial(template.context_strategy)


def _binding(tool: ToolGrant) -> dict[str, Any]:
    return {
        "tool": tool.name,
        "approval": tool.approval,
        "approval_timeout_seconds": tool.approval_timeout_seconds,
    }


def _names(agents: QuerySet[Agent], workspace: object) -> set[str]:
    """Return the names in a workspace, whose key comes from the address and may be anything."""
    key = str(workspace)
    if not key.isdecimal() or len(key) > 9:
        return set()
    return set(agents.filter(workspace=int(key)).values_list("name", flat=True))


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number if it is taken."""
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 2))
    return next(one for one in (name, *numbered) if one not in taken)
