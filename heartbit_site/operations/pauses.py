"""What is held back: queues, workspaces, tools, everything. The kill switch, and its end."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from agents import pauses
from agents.actions.pause_work import pause_work
from agents.actions.resume_work import resume_work
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.contract import pauses as contract
from heartbit_site.contract.model import Name
from heartbit_site.contract.pauses import Holdable, PauseIn, PauseStateOut
from heartbit_site.workspaces import find_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heartbit_site.base.models import Workspace

    Does = Callable[..., PauseStateOut]

PARAMETERS = {
    "queue": Annotated[Name, Field(min_length=1, description="As `GET /fleet` names it.")],
    "slug": Annotated[Name, Field(min_length=1, description="The workspace's short name.")],
    "tool": Annotated[Name, Field(min_length=1, description="As `GET /tools` lists it.")],
}


def _functions(holdable: Holdable, held: str, freed: str) -> tuple[Does, Does]:
    """Return what holds something back, and what lets it go on.

    Args:
        holdable: What: of operators' operations the path names the workspace, if there is one;
            others concern the workspace of whoever asks, and are its own.
        held: The description of the first, for OpenAPI.
        freed: That of the second.
    """
    by_operator = holdable.hold.needs.operator

    def hold(access: Access, body: PauseIn, **names: str) -> PauseStateOut:
        found = _find(names, None if by_operator else access.workspace)
        changed = pause_work(
            found, by=actor_of(access), reason=body.reason, by_operator=by_operator
        )
        return _view(found, held=True, changed=changed)

    def free(access: Access, **names: str) -> PauseStateOut:
        found = _find(names, None if by_operator else access.workspace)
        changed = resume_work(found, by=actor_of(access), by_operator=by_operator)
        return _view(found, held=pauses.rows_of(found).exists(), changed=changed)

    given = {name: PARAMETERS[name] for name in re.findall(r"\{(\w+)\}", holdable.hold.path)}
    _describe(hold, held, {"access": Access, **given, "body": PauseIn})
    _describe(free, freed, {"access": Access, **given})
    return hold, free


def _describe(does: Any, text: str, parameters: dict[str, Any]) -> None:
    """Give a function its docstring and signature, which routes and commands are made from."""
    does.__doc__ = text
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    does.__signature__ = inspect.Signature(
        [inspect.Parameter(name, kind, annotation=one) for name, one in parameters.items()]
    )


def _find(names: Mapping[str, str], own: Workspace | None) -> pauses.Held:
    """Return what the parameters of a path name, in somebody's own workspace if there is one."""
    workspace = find_workspace(names["slug"]) if "slug" in names else own
    if "queue" in names:
        return pauses.queue(names["queue"])
    if "tool" in names:
        return pauses.of_tool(names["tool"], workspace)
    return pauses.EVERYTHING if workspace is None else pauses.of_workspace(workspace)


def _view(found: pauses.Held, *, held: bool, changed: bool) -> PauseStateOut:
    slug = found.workspace.slug if found.workspace is not None else ""
    return PauseStateOut(
        kind=found.kind.value,
        name=found.queue or found.tool or slug,
        workspace=slug if found.tool else "",
        paused=held,
        changed=changed,
    )


pause_queue, resume_queue = _functions(
    contract.QUEUE,
    "Nothing is claimed from it until it is resumed; what is at work goes on.",
    "Its workers are told at once.",
)
halt_everything, resume_everything = _functions(
    contract.EVERYTHING,
    "No run starts in any workspace, and what is at work is handed back; nothing is lost.",
    "What was handed back goes on where it was; workspaces that were stopped stay so.",
)
halt_any_workspace, resume_any_workspace = _functions(
    contract.ANY_WORKSPACE,
    "As for everything, in one workspace of the installation.",
    "What was handed back goes on where it was; the workspace's own stop is ended too.",
)
disable_tool, enable_tool = _functions(
    contract.TOOL,
    "No call of it is run in any workspace: models are told so, and their runs go on.",
    "It may be called again, but where a workspace has stopped it for itself.",
)
disable_tool_in_any_workspace, enable_tool_in_any_workspace = _functions(
    contract.TOOL_IN_ANY_WORKSPACE,
    "No call of it is run there: models are told so, and their runs go on.",
    "It may be called there again, unless it is stopped everywhere; the own stop is ended too.",
)
halt_workspace, resume_workspace = _functions(
    contract.WORKSPACE,
    "No run starts in it, and what is at work is handed back; nothing is lost.",
    "What was handed back goes on; a stop that an operator placed only operators end (403).",
)
disable_tool_in_workspace, enable_tool_in_workspace = _functions(
    contract.TOOL_IN_WORKSPACE,
    "No call of it is run in the workspace: models are told so, and their runs go on.",
    "It may be called again; a stop that an operator placed only operators end (403).",
)
