"""Save an agent's form with ``save_agent``, and show its refusal at the faulty field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages

from agents.actions.save_agent import change_agent, create_agent
from agents.admin.bindings import ToolBindingFormSet
from agents.definitions.spec import AgentSpec
from agents.models import Agent
from heartbit_site.base.admin.audit_mixin import actor_of
from heartbit_site.base.admin.themed import ModelAdmin
from heartbit_site.base.errors import ConfigurationError, ConflictError

if TYPE_CHECKING:
    from django import forms
    from django.http import HttpRequest, HttpResponse

    from agents.actions.write_agents import Written


class SavedByVerb(ModelAdmin[Agent]):
    """Agent page whose form is written, published and audited by ``save_agent``."""

    verbs_record = frozenset({"add", "change"})

    def get_form(
        self,
        request: HttpRequest,
        obj: Agent | None = None,
        change: bool = False,  # noqa: FBT001, FBT002  Django's signature
        **kwargs: Any,
    ) -> type[forms.ModelForm[Agent]]:
        """Return the form, with the reason why its content was refused a moment ago."""
        form = super().get_form(request, obj, change=change, **kwargs)
        form.refusal = getattr(request, "heartbit_refusal", None)  # type: ignore[attr-defined]
        return form

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show the form again if saving was refused, which rolled its transaction back."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except (ConfigurationError, ConflictError) as refusal:
            request.heartbit_refusal = refusal  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, extra_context)

    def save_model(
        self,
        request: HttpRequest,
        obj: Agent,
        form: Any,
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
        """Write nothing yet: ``save_related`` has the tools too."""

    def save_related(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Any,
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
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
    if made is not None and made:
        number = made.version.number
        messages.success(request, f"Published: runs from now on use v{number}.")
    elif made is not None:
        number = made.version.number
        messages.info(request, f"Nothing that its runs see has changed: v{number}.")
    for led in written.led:
        name = led.agent.name
        if led.made is None:
            messages.warning(request, f"{name} was not published again: {led.problem}")
        elif led.made:
            number = led.made.version.number
            messages.success(request, f"Published as well: {name} v{number}.")
