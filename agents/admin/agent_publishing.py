"""Saving an agent publishes it, or saves nothing and says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages

from agents.actions.publish_agent import publish_agent
from agents.models import Agent
from heartbit_site.base.admin.themed import ModelAdmin
from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from django import forms
    from django.http import HttpRequest, HttpResponse


class PublishRefusedError(Exception):
    """What was sent cannot be published; everything saved for it is rolled back."""


class PublishedBySaving(ModelAdmin[Agent]):
    """What happens when an agent's form is sent."""

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
