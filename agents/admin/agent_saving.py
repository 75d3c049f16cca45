"""Save an agent's form with ``save_agent``, and show its refusal at the faulty field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages

from agents.actions.save_agent import change_agent, create_agent
from agents.admin.bindings import ToolBindingFormSet
from agents.definitions.spec import AgentSpec
from agents.models import Agent
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.saved_by_verb import VerbAdmin

if TYPE_CHECKING:
    from django.http import HttpRequest

    from agents.actions.write_agents import Written


class SavedByVerb(VerbAdmin[Agent]):
    """Agent page whose form is written, published and audited by ``save_agent``."""

    verbs_record = frozenset({"add", "change"})

    def save_row(self, request: HttpRequest, row: Agent, form: Any) -> None:
        """Write nothing yet: ``save_related`` has the tools too."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        """Save the agent with its tools and team, publish it, and report the versions."""
        for formset in formsets:
            formset.save(commit=False)  # writes nothing; Django's history reads what changed
        [tools] = [formset for formset in formsets if isinstance(formset, ToolBindingFormSet)]
        spec = AgentSpec.model_validate({**form.settings(), "tools": tools.grants()})
        agent, by = form.instance, actor_of(request)
        if change:
            given = AgentSpec.model_fields.keys() - {"enabled"}
            seen = form.cleaned_data["seen"] or None
            written = change_agent(agent.workspace, agent.name, spec, given, by=by, saved_at=seen)
        else:
            written = create_agent(agent.workspace, spec, by=by)
            agent.pk = written.row.pk
        _report(request, written)


def _report(request: HttpRequest, written: Written) -> None:
    """Say which versions were published."""
    made = written.made
    if made is not None:
        number = made.version.number
        if made:
            messages.success(request, f"Published: runs from now on use v{number}.")
        else:
            messages.info(request, f"Nothing that its runs see has changed: v{number}.")
    for led in written.led:
        name = led.agent.name
        if led.made is None:
            messages.warning(request, f"{name} was not published again: {led.problem}")
        elif led.made:
            number = led.made.version.number
            messages.success(request, f"Published as well: {name} v{number}.")
