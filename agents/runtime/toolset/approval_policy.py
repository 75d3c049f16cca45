"""Policies that decide which calls of a run need an approval, and for which displayed reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heartbit_site.base.jsonschema import fits
from heartbit_site.base.toolspec import Effect, ToolSpec
from tools.calls.pipeline import Policy, RequireApproval

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.runtime.toolset.offer import OfferedTools
    from tools.credentials.choice import ChosenCredential


def approval_policy(definition: AgentDefinition, offer: OfferedTools, *, approve: bool) -> Policy:
    """Return the policy for approvals: the run's, else the tool's, else the agent's."""
    bound = {tool.name: tool for tool in definition.tools}

    def policy(spec: ToolSpec, arguments: Mapping[str, Any]) -> RequireApproval | None:
        tool = bound.get(spec.name)
        rule = definition.approval if tool is None or not tool.approval else tool.approval
        if approve:
            return RequireApproval("Every tool call of this run is asked for.")
        match rule:
            case "always":
                return RequireApproval(f"{definition.name} asks before it uses {spec.name}.")
            case "effects" if spec.effect is not Effect.PURE:
                return RequireApproval(
                    f"{definition.name} asks before it uses tools that have an effect."
                )
            case "when" if tool is not None and tool.approval_when is not None:
                # A rule that cannot be evaluated requires approval.
                if fits(tool.approval_when, dict(arguments)) is not False:
                    return RequireApproval(
                        f"{definition.name} asks before it uses {spec.name} like this."
                    )
        return None

    return policy


def require_always(reason: str) -> Policy:
    """Return the policy that requires approval of every call, for this reason."""
    return lambda _spec, _arguments: RequireApproval(reason)


def name_credentials(reason: str, needs: Mapping[str, ChosenCredential]) -> str:
    """Return the reason of an approval with the credentials that the call would use."""
    if not needs:
        return reason
    used = ", ".join(f"{chosen.name} ({chosen.value.label})" for chosen in needs.values())
    return f"{reason} It uses the credential {used}."
