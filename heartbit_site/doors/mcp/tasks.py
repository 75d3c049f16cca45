"""Runs as tasks (SEP-2663): asked about, answered and cancelled by any process, at any time.

The SDK knows the extension's name alone; its requests are registered here. Everything is read from
the run, so that a task outlives every process and every client.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ElicitResult,
)
from mcp_types import RequestParams as Params

from agents.models import Run, RunEvent
from agents.querysets import readable
from agents.reads.outcome import read_outcome
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.errors import NotFoundError
from heartbit_site.doors.mcp.answering import Context, caller_of
from heartbit_site.doors.mcp.questions import answer_questions, open_forms
from heartbit_site.doors.mcp.results import cancel, result_of
from heartbit_site.doors.questions import DECIDE

EXTENSION: Final = "io.modelcontextprotocol/tasks"
_POLL_MS: Final = 1_000
_WAITS: Final = "It waits for people, whom this key does not answer for."


class TaskNotFoundError(NotFoundError):
    """There is no task with that id in the workspace."""


class TaskParams(Params):
    """Parameters of a request about a task."""

    task_id: str


class UpdateParams(TaskParams):
    """Parameters of ``tasks/update``."""

    input_responses: dict[str, ElicitResult]


def takes_tasks(ctx: Context) -> bool:
    """Return True if the client of a request knows tasks."""
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and EXTENSION in (capabilities.extensions or {})


def offer_tasks(server: Server[Any]) -> None:
    """Add the extension to a server."""
    server.extensions[EXTENSION] = {}
    server.add_request_handler("tasks/get", TaskParams, _get)
    server.add_request_handler("tasks/update", UpdateParams, _update)
    server.add_request_handler("tasks/cancel", TaskParams, _cancel)


def find_run_of(access: Access, text: str) -> Run:
    """Return the run of a task.

    Raises:
        TaskNotFoundError: The workspace has none with this id.
    """
    try:
        rows = Run.objects.filter(readable(access), workspace=access.workspace)
        run = rows.filter(pk=UUID(text)).first()
    except ValueError:
        run = None
    if run is None:
        raise TaskNotFoundError(f"There is no task {text[:80]!r}.")
    return run


def created(access: Access, run_id: UUID) -> dict[str, Any]:
    """Return the result of a call that became a task."""
    task = read_task(access, find_run_of(access, str(run_id)))
    shown = ("taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs")
    return {"resultType": "task", **{name: task[name] for name in shown}}


def read_task(access: Access, run: Run) -> dict[str, Any]:
    """Return a task as it is now."""
    last = RunEvent.objects.filter(run=run).order_by("-seq").values_list("at", flat=True).first()
    return {
        "taskId": str(run.pk),
        "createdAt": _time(run.created_at),
        "lastUpdatedAt": _time(run.finished_at or last or run.created_at),
        "ttlMs": None,  # as long as the installation keeps its runs
        "pollIntervalMs": _POLL_MS,
        **_state(access, run),
    }


def _state(access: Access, run: Run) -> dict[str, Any]:
    outcome = read_outcome(run.pk)
    if outcome.result is not None:
        if outcome.status == "cancelled":
            return {"status": "cancelled", "statusMessage": str(outcome.result.error)}
        if outcome.status == "quarantined":
            error = {"code": INTERNAL_ERROR, "message": str(outcome.result.error)}
            return {"status": "failed", "error": error}
        result = result_of(run.pk, outcome)
        dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return {"status": "completed", "result": dumped}
    forms = open_forms(access, run.pk)  # also while other parts of the run go on
    if not forms:
        return {"status": "working", "statusMessage": f"The run is {outcome.status}."}
    if not access.allows(DECIDE):
        return {"status": "working", "statusMessage": _WAITS}
    requests = {
        key: one.model_dump(by_alias=True, mode="json", exclude_none=True)
        for key, one in forms.items()
    }
    return {"status": "input_required", "inputRequests": requests}


def _time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _check(ctx: Context, params: TaskParams) -> Access:
    """Return the caller, if the client knows tasks, and its headers name the same one.

    Raises:
        MCPError: It does not, or they name another one.
    """
    if not takes_tasks(ctx):
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"Requests about tasks need the client capability {EXTENSION}.",
            {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
        )
    named = None if ctx.request is None else ctx.request.headers.get(MCP_NAME_HEADER)
    if named is not None and decode_header_value(named) != params.task_id:
        raise MCPError(HEADER_MISMATCH, "The header Mcp-Name must be the taskId of the request.")
    return caller_of(ctx).access


async def _get(ctx: Context, params: TaskParams) -> dict[str, Any]:
    access = _check(ctx, params)
    return await orm.read_in_thread(lambda: read_task(access, find_run_of(access, params.task_id)))


async def _update(ctx: Context, params: UpdateParams) -> dict[str, Any]:
    access = _check(ctx, params)

    def update() -> None:
        run = find_run_of(access, params.task_id)
        answer_questions(access, run.pk, params.input_responses)

    await orm.run_in_thread(update)
    return {}


async def _cancel(ctx: Context, params: TaskParams) -> dict[str, Any]:
    access = _check(ctx, params)
    await orm.run_in_thread(lambda: cancel(access, find_run_of(access, params.task_id).pk))
    return {}
