"""Tools of agents: published definitions, and results of calls.

Calls of the workspaces' newest runs are counted, so that a page costs the same after years.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Q, QuerySet

from agents.choices import CallStatus
from agents.definitions.definition import BLACKBOARD, AgentDefinition
from agents.definitions.server_grants import ALL
from agents.models import Run, ToolBinding, ToolCall
from agents.querysets import shown_tool
from heartbit_site.base.schema_references import in_schema_order
from heartbit_site.base.toolspec import ToolSpec
from tools.definitions import catalogue as definitions
from tools.definitions.registry import registry


def pinned_tools(definition: AgentDefinition) -> dict[str, ToolSpec]:
    """Return the tools of a version by name, each as it was published; the blackboard's as now.

    A web process without tools lacks those of the blackboard that the version does not name.
    """
    shared = {name: registry[name] for name in BLACKBOARD if name in registry}
    found = {tool.name: definitions.find(tool.name, tool.pinned) for tool in definition.tools}
    return shared | {name: spec for name, spec in found.items() if spec is not None}


def pinned_tool(call: ToolCall) -> ToolSpec | None:
    """Return a call's tool as the run's version pinned it; None if it has no such tool.

    Args:
        call: Tool call; the version of its run is read.
    """
    name = shown_tool(call)
    for tool in call.run.version.snapshot.get("tools", ()):
        if tool["name"] == name:
            return definitions.find(name, tool["hash"])
    return None


def in_tool_order(call: ToolCall, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in the order in which the call's tool declares them.

    Args:
        call: Tool call; the version of its run is read.
        arguments: Arguments to order.
    """
    spec = pinned_tool(call)
    return in_schema_order(arguments, spec.parameters if spec is not None else None)


RECENT_RUNS: Final = 1_000
FAILED: Final = (CallStatus.ERROR, CallStatus.TIMEOUT, CallStatus.INVALID)
ENDED: Final = (CallStatus.OK, *FAILED)


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """Use of a tool.

    Attributes:
        agents: Names of the agents that have it.
        calls: Calls in the newest runs, without refused and cancelled ones.
        failed: Calls among them that ended with an error, a timeout, or invalid arguments.
    """

    agents: tuple[str, ...] = ()
    calls: int = 0
    failed: int = 0

    @property
    def error_rate(self) -> float | None:
        """Share of failed calls; None: there were no calls."""
        return self.failed / self.calls if self.calls else None


def tool_usage(workspaces: Collection[int] | None = None) -> dict[str, ToolUsage]:
    """Return the use of tools by name, in some workspaces; None: in all."""
    here = Q() if workspaces is None else Q(agent__workspace__in=workspaces)
    bound = ToolBinding.objects.filter(here, enabled=True, agent__origin="")
    agents: dict[str, list[str]] = {}
    for tool, agent in bound.order_by("agent__name").values_list("tool", "agent__name"):
        agents.setdefault(tool, []).append(agent)
    if any(tool.endswith(ALL) for tool in agents):
        _add_server_tools(agents, bound)
    counted = _recent_calls(workspaces).filter(status__in=ENDED).order_by().values("tool")
    rows = counted.annotate(calls=Count("pk"), failed=Count("pk", filter=Q(status__in=FAILED)))
    calls = {tool: (n, failed) for tool, n, failed in rows.values_list("tool", "calls", "failed")}
    return {
        tool: ToolUsage(tuple(dict.fromkeys(agents.get(tool, ()))), *calls.get(tool, (0, 0)))
        for tool in agents.keys() | calls.keys()
    }


def _add_server_tools(agents: dict[str, list[str]], bound: QuerySet[ToolBinding]) -> None:
    """Add the agents that have all tools of a server to each tool that their versions pin."""
    rows = bound.filter(tool__endswith=ALL).order_by("agent__name")
    fields = ("tool", "agent__name", "agent__current_version__snapshot__tools")
    for grant, agent, pinned in rows.values_list(*fields):
        for tool in pinned or ():
            if tool["name"].startswith(grant.removesuffix("*")):
                agents.setdefault(tool["name"], []).append(agent)


def last_calls(tool: str, workspaces: Collection[int] | None = None) -> QuerySet[ToolCall]:
    """Return the calls of a tool in the newest runs that are not private, the newest first."""
    calls = _recent_calls(workspaces).filter(tool=tool, run__private_to=None)
    return calls.select_related("run__workspace").order_by("-pk")


def _recent_calls(workspaces: Collection[int] | None) -> QuerySet[ToolCall]:
    runs = Run.objects.all() if workspaces is None else Run.objects.filter(workspace__in=workspaces)
    recent = runs.order_by("-created_at").values("pk")[:RECENT_RUNS]
    return ToolCall.objects.filter(run__in=recent)
