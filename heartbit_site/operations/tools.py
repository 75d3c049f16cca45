"""Tools that agents can be given."""

from __future__ import annotations

from collections.abc import Mapping

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest, call_of
from agents.errors import UnknownToolError
from agents.limits.pauses import stopped_tools
from agents.reads.tools import ToolUsage, tool_usage
from heartbit_site.base.access import Access
from heartbit_site.base.audit import starter_of
from heartbit_site.base.errors import Remedy
from heartbit_site.base.toolspec import ToolSpec
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.contract.runs import RunDetailOut
from heartbit_site.contract.tools import ToolDetailOut, ToolOut, ToolsOut, ToolTrialIn
from heartbit_site.operations.paging import page_of
from heartbit_site.operations.run_views import detail_of_new
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash, registry, resolve
from tools.texts.near_names import hint


def list_tools(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> ToolsOut:
    """Return the tools that the workspace's agents can be given, by name."""
    found, following = page_of(catalogue(access.workspace.pk), str, cursor, limit)
    return ToolsOut(tools=[_view(spec) for spec in found], next_cursor=following)


def show_tool(access: Access, tool: Word) -> ToolDetailOut:
    """Return a tool with its agents, and the outcomes of its recent calls."""
    spec = _find(catalogue(access.workspace.pk), tool)
    used = tool_usage([access.workspace.pk]).get(spec.name, ToolUsage())
    return ToolDetailOut(
        **_view(spec).model_dump(),
        origin=spec.origin.value,
        disabled=stopped_tools(access.workspace).get(spec.name, ""),
        agents=list(used.agents),
        calls=used.calls,
        failed=used.failed,
    )


def try_tool(access: Access, tool: Word, body: ToolTrialIn) -> RunDetailOut:
    """Call a tool as an agent that has it, with its bindings, approvals and limits.

    The call is a separate run, with a journal: `GET /runs/{run_id}/result?wait=60` waits for it.
    """
    spec = _find(catalogue(access.workspace.pk), tool)
    request = RunRequest(
        access.workspace,
        call=call_of(spec.name, body.arguments),
        agent=body.agent,
        approve=body.require_approval,
        by=starter_of(access),
    )
    return detail_of_new(admit(request).run_id)


def _find(known: Mapping[str, ToolSpec], name: str) -> ToolSpec:
    spec = resolve(known, name)
    if spec is None:
        raise UnknownToolError(
            f"There is no tool named {name[:64]!r}: {hint(name, known, most=10)}",
            remedy=Remedy("tools.list_tools"),
        )
    return spec


def _view(spec: ToolSpec) -> ToolOut:
    more = {} if registry.get(spec.name) is spec else {"timeout_seconds": None}
    return ToolOut.of(
        spec,
        hash=definition_hash(spec),
        answered_by_person=spec.answer_parameter is not None,
        labels=sorted(spec.labels),
        **more,
    )
