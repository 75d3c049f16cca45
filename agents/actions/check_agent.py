"""Whether an agent's JSON settings can be used; the admin, the TOML import and publishing ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Group

from agents.context import strategy
from agents.llm.references import check_reference
from agents.output.check import check_response_schema
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent, ToolBinding

MAX_STOP = 4  # what every provider takes


def check_agent(agent: Agent) -> None:
    """Check everything that the database's columns do not.

    Raises:
        ConfigurationError: One sentence that names the agent and the field.
    """
    _field(agent, "context_strategy", strategy.parse, agent.context_strategy)
    if agent.response_schema is not None:
        _field(agent, "response_schema", check_response_schema, agent.response_schema)
    _field(agent, "stop", _check_texts, agent.stop)
    if len(agent.stop) > MAX_STOP:
        raise ConfigurationError(f"Agent {agent.name!r}: stop takes at most {MAX_STOP} texts.")
    _field(agent, "fallback_models", _check_texts, agent.fallback_models)
    for reference in (agent.model, *agent.fallback_models):
        if reference:
            _field(agent, "model", check_reference, reference)
    if agent.strong_model:
        _field(agent, "strong_model", check_reference, agent.strong_model)
    for binding in agent.bindings.all() if agent.pk else ():
        check_binding(agent, binding)


def check_binding(agent: Agent, binding: ToolBinding) -> None:
    """Check one tool's rule and defaults, and who decides its calls.

    Raises:
        ConfigurationError: As ``check_agent``.
    """
    place = f"tool {binding.tool}"
    if (binding.approval == "when") != (binding.approval_when is not None):
        raise ConfigurationError(
            f"Agent {agent.name!r}: {place} needs approval_when, a JSON Schema of the arguments, "
            'exactly when its approval is "when".'
        )
    if binding.approval_when is not None:
        _field(agent, f"{place}: approval_when", _check_object, binding.approval_when)
        _field(agent, f"{place}: approval_when", check_schema, binding.approval_when)
    _field(agent, f"{place}: defaults", _check_object, binding.defaults)
    _check_escalation(agent, binding)


def check_group(name: str) -> None:
    """Of a group that is not there nobody is a member: calls would wait for nobody.

    Raises:
        ConfigurationError: There is none of that name; an empty one stands for no group.
    """
    if name and not Group.objects.filter(name=name).exists():
        raise ConfigurationError(
            f"There is no group named {name}: a superuser adds it under Groups."
        )


def _check_escalation(agent: Agent, binding: ToolBinding) -> None:
    place = f"Agent {agent.name!r}, tool {binding.tool}"
    minutes = binding.escalate_minutes
    if minutes is None:
        if binding.escalate_group:
            raise ConfigurationError(
                f"{place}: escalate_group: say with escalate_minutes when the group is asked."
            )
        return
    seconds = binding.approval_seconds or agent.approval_seconds
    if seconds is not None and seconds <= minutes * 60:
        raise ConfigurationError(
            f"{place}: escalate_minutes: a call is refused after {seconds} seconds, before more "
            "people are asked: give fewer minutes, or more seconds."
        )


def _field(agent: Agent, name: str, check: Callable[[Any], object], value: object) -> None:
    try:
        check(value)
    except ConfigurationError as error:
        raise ConfigurationError(f"Agent {agent.name!r}, {name}: {error}") from error


def _check_texts(value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        raise ConfigurationError('it has to be a JSON list of texts, such as ["END"].')


def _check_object(value: object) -> None:
    if not isinstance(value, dict):
        raise ConfigurationError("it has to be a JSON object.")
