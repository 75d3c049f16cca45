"""Saving an agent publishes it, or saves nothing and says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages

from agents.actions.publish_agent import make_current
from agents.actions.republish_orchestrators import publish_leaders
from agents.models import Agent
from heartbit_site.base.admin.audit_mixin import actor_of
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
        change: bool = False,  # noqa: FBT001, FBT002  Django's signature
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
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
        """Team and tools are saved: publish what the agent is now."""
        super().save_related(request, form, formsets, change)
        agent: Agent = form.instance
        try:
            made = make_current(agent)
        except ConfigurationError as error:
            raise PublishRefusedError(str(error)) from error
        request.heartbit_published = made.said()  # type: ignore[attr-defined]
        number = made.version.number
        if made:
            messages.success(request, f"Published: runs from now on use v{number}.")
        else:
            messages.info(request, f"Nothing that its runs see has changed: v{number}.")
        for led in publish_leaders([agent], by=actor_of(request)):
            name = led.agent.name
            if led.made is None:
                messages.warning(request, f"{name} was not published again: {led.problem}")
            elif led.made:
                number = led.made.version.number
                messages.success(request, f"Published as well: {name} v{number}.")

    def construct_change_message(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Any,
        add: bool = False,  # noqa: FBT001, FBT002  Django's signature
    ) -> Any:
        """The audit's one entry about the change also says which version it made."""
        message = super().construct_change_message(request, form, formsets, add)
        request.heartbit_changes |= getattr(request, "heartbit_published", {})  # type: ignore[attr-defined]
        return message
