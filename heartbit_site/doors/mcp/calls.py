"""Calls of tools: each starts a run, and waits for its end unless the client knows tasks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agents.journal.events import ApprovalRequested, CallWaiting, OutcomeRequested
from agents.live.tree_view import TreeView
from agents.live.updates import EventUpdate, ProgressUpdate, Update
from agents.live.words import heading, say
from agents.reads.outcome import Outcome, read_outcome
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.errors import HeartbitError
from heartbit_site.doors.mcp.answering import Context, caller_of
from heartbit_site.doors.mcp.questions import answer_questions, open_forms
from heartbit_site.doors.mcp.results import cancel, refused, result_of
from heartbit_site.doors.mcp.tasks import TaskNotFoundError, created, find_run_of, takes_tasks
from heartbit_site.doors.mcp.tools import task_of
from heartbit_site.doors.questions import DECIDE
from heartbit_site.doors.runs import LONGEST_SECONDS, ended, start, updates_of

#: Member of ``_meta``: a call that is sent again with the same key starts no other run.
IDEMPOTENCY_KEY: Final = "heartbit/idempotencyKey"
_ASKING: Final = (ApprovalRequested, CallWaiting, OutcomeRequested)


async def call_tool(
    ctx: Context, params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult | dict[str, Any]:
    """Start a run, and return its answer at its end, a question of it, or a task.

    A client that knows tasks gets one at once. One that shows forms is asked what the run asks,
    and calls again with the answers and the run's id, its ``requestState``. Others wait until
    a person has answered elsewhere.
    """
    access = caller_of(ctx).access
    try:
        run_id = await orm.run_in_thread(partial(_run_of, access, params, _key(ctx)))
    except HeartbitError as error:
        return refused(str(error))  # which a model reads, and may do better
    if takes_tasks(ctx) and _is_modern(ctx):
        return await orm.run_in_thread(partial(created, access, run_id))
    try:
        found = await _follow(ctx, access, run_id, asks=_shows_forms(ctx, access, params))
    except asyncio.CancelledError:
        if _is_cancelled(ctx):
            await asyncio.shield(orm.run_in_thread(partial(cancel, access, run_id)))
        raise
    if isinstance(found, Outcome):
        return result_of(run_id, found)
    requests: Any = found
    return InputRequiredResult(input_requests=requests, request_state=str(run_id))


def _run_of(access: Access, params: CallToolRequestParams, key: str | None) -> UUID:
    """Return the run of a call: a new one, or that of a call with answers."""
    if params.request_state is None:
        task = task_of(access, params.name, params.arguments)
        return start(access, params.name, task, key=key)
    try:
        run = find_run_of(access, params.request_state)
    except TaskNotFoundError:
        sentence = "The requestState is none of this workspace: send it as it was given."
        raise MCPError(INVALID_PARAMS, sentence) from None
    if run.agent != params.name:
        raise MCPError(INVALID_PARAMS, f"The requestState is of {run.agent}, not {params.name}.")
    answers = params.input_responses or {}
    given = {key: one for key, one in answers.items() if isinstance(one, ElicitResult)}
    if given:
        answer_questions(access, run.pk, given)
    return run.pk


def _key(ctx: Context) -> str | None:
    meta: Any = ctx.meta or {}
    found = meta.get(IDEMPOTENCY_KEY)
    return found if isinstance(found, str) and found else None


def _is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _is_cancelled(ctx: Context) -> bool:
    """Return True if the client has cancelled its request, and not this process.

    Since 2026-07-28 a client cancels by closing the response; before, a lost connection said
    nothing.
    """
    return ctx.request is None or (caller_of(ctx).has_left and _is_modern(ctx))


def _shows_forms(ctx: Context, access: Access, params: CallToolRequestParams) -> bool:
    """Return True if the client asks its person, who has not put the forms aside."""
    answers = (params.input_responses or {}).values()
    if any(isinstance(one, ElicitResult) and one.action == "cancel" for one in answers):
        return False
    capabilities = ctx.session.client_capabilities
    knows = capabilities is not None and capabilities.elicitation is not None
    return knows and _is_modern(ctx) and access.allows(DECIDE)


async def _follow(
    ctx: Context, access: Access, run_id: UUID, *, asks: bool
) -> Outcome | Mapping[str, ElicitRequest]:
    """Wait for a run's end, and report its progress to a client that asks for it.

    Returns:
        The outcome at the end, or after a very long time; or open questions that the client shows.
    """
    if not asks and "progress_token" not in (ctx.meta or {}):
        return await ended(access, run_id)
    tree, count = TreeView(), 0
    with contextlib.suppress(TimeoutError):
        async with (
            asyncio.timeout(LONGEST_SECONDS),
            contextlib.aclosing(updates_of(access, run_id)) as news,
        ):
            async for updates in news:
                for update in updates:
                    tree.apply(update)
                    if message := _words(tree, update):
                        count += 1
                        await ctx.session.report_progress(count, message=message)
                if asks and any(map(_asks, updates)):
                    found = await orm.run_in_thread(partial(open_forms, access, run_id))
                    if found:
                        return found
    return await orm.read_in_thread(partial(read_outcome, run_id))


def _asks(update: Update) -> bool:
    return isinstance(update, EventUpdate) and isinstance(update.recorded.event, _ASKING)


def _words(tree: TreeView, update: Update) -> str:
    """Return an update as a line; empty: it is no news."""
    if isinstance(update, ProgressUpdate):
        return update.progress.text
    if not isinstance(update, EventUpdate):
        return ""
    run = tree.runs[update.run_id]
    return f"{run.agent}: {heading(say(update.recorded.event, run.name_of).title)}"
