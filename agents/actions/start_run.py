"""Start a run: write its row and its journal's first event, and wake a worker."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.db import transaction

from agents.actions.create_default_team import ORCHESTRATOR
from agents.actions.wake_run import wake_queue
from agents.choices import Placement
from agents.errors import AgentNotFoundError, AgentsChangedError, EmptyTaskError
from agents.limits.quotas import raise_if_exceeded
from agents.live.changes import notify_on_commit
from agents.output.payload import render
from agents.reads.agents import find_agent
from agents.runs.idempotency_keys import stored_key
from agents.runtime.files.folder import Folder
from agents.runtime.providers.preflight import has_obstacle, raise_if_not_ready
from heartbit_site.base.audit import NOBODY, Actor
from heartbit_site.base.ids import new_id
from heartbit_site.base.query import fetch_one
from heartbit_site.base.untrusted import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from agents.llm.messages import ToolCall
    from agents.output.payload import TaskPayload
    from agents.runs.idempotency_keys import InternalKey
    from heartbit_site.base.models import Workspace

_SUBMIT = (
    "SELECT run_id, queue, is_new FROM heartbit_submit("
    "%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, p_by => %s, p_user => %s, p_hops => %s,"
    " p_call => %s)"
)
# PostgreSQL asks a condition that names no row before it calls the function.
_IF_UNCHANGED = """
    WHERE ARRAY(SELECT a.current_version_id FROM agents_agent a
                JOIN base_workspace w ON w.id = a.workspace_id
                WHERE w.id = %s AND w.slug = %s AND a.origin = %s ORDER BY a.id) = %s::bigint[]
"""


def start_run(
    workspace: Workspace,
    task: str,
    *,
    agent: str = ORCHESTRATOR,
    model: str = "",
    home: Placement = Placement.FLEET,
    priority: int = 0,
    idempotency_key: str | InternalKey | None = None,
    origin: str = "",
    approve: bool = False,
    payload: TaskPayload | None = None,
    by: Actor = NOBODY,
    hops: int = 0,
    call: ToolCall | None = None,
    files: Mapping[str, bytes] | None = None,
    versions: Sequence[int] | None = None,
) -> UUID:
    """Start a run and, on the fleet, wake its queue after the commit.

    Args:
        workspace: The run's workspace.
        task: The task for the agent; may be empty with a payload.
        agent: The agent's name.
        model: ``provider:model`` for this run and its children; empty: each agent's own.
        home: Placement of the run: fleet or local.
        priority: Higher starts first, among the workspace's runs.
        idempotency_key: Repeating the key in the same workspace returns the same run.
        origin: Set of agents to choose from: empty: those edited in the admin; else those of a
            configuration (``Agent.origin``).
        approve: True if every tool call, also of its sub-agents, waits for a person.
        payload: The task in its long form; its text follows ``task``.
        by: The run's owner.
        hops: Number of agents' plans in a row that led to the run, as in ``Run``.
        call: The tool call that the run consists of (see ``start_tool_call``); None: a run of the
            kind that the agent's version defines.
        files: Files of the run's folder, by path.
        versions: Current versions of all agents of ``origin``, in the order of the agents' ids, as
            the caller knows them; None: any.

    Returns:
        The run's id; from here on the run is durable.

    Raises:
        EmptyTaskError: ``task`` is blank.
        ReservedKeyError: The idempotency key begins with a prefix reserved for Heartbit.
        AgentsChangedError: ``versions`` are others now, or none of these agents can be asked; start
            it without them.
        AgentNotFoundError: No published agent has that name.
        HaltedError: The workspace or the installation is stopped.
        QuotaExceededError: The workspace or the agent has reached a run quota.
        ModelUnreachableError: No model that the agent may ask answers.
        NoSandboxError: The agent runs code, and there is no sandbox where it would run.
        FolderError: The run's folder cannot have such files.
    """
    key = stored_key(idempotency_key)
    if call is None and has_obstacle(workspace.pk, home):
        raise_if_not_ready(find_agent(workspace, agent, origin=origin), model, home, key=key)
    run_id = new_id()
    parameters: tuple[Any, ...] = (
        run_id,
        workspace.pk,
        agent,
        task_text(task, payload),
        home.value,
        priority,
        model,
        key,
        origin,
        approve,
        payload.model_dump_json() if payload is not None else None,
        by.name,
        by.user_id,
        hops,
        None if call is None else json.dumps(asdict(call), ensure_ascii=False),
    )
    query = _SUBMIT
    if versions is not None:
        query += _IF_UNCHANGED
        parameters += (workspace.pk, workspace.slug, origin, list(versions))
    # Without files one statement: atomic by itself, or in the caller's block.
    with transaction.atomic() if files else nullcontext():
        row: tuple[UUID, str, bool] | None = fetch_one(query, parameters, prepare=True)
        if row is not None and row[2]:
            Folder.give(row[0], files or {})
    if row is None and versions is not None:
        raise AgentsChangedError("The agents were changed meanwhile: look for them again.")
    if row is None:
        # Both raise: find_agent lists the known agents, raise_if_exceeded names the quota.
        raise_if_exceeded(find_agent(workspace, agent, origin=origin))
        raise AgentNotFoundError(f"The agent {agent!r} was published this very moment: try again.")
    accepted, queue, is_new = row
    if home is Placement.FLEET and is_new:
        wake_queue(accepted, queue)
    if is_new:
        notify_on_commit(workspace.pk, "runs")
    return accepted


def task_text(task: str, payload: TaskPayload | None) -> str:
    """Return the text that the agent reads.

    Raises:
        EmptyTaskError: The text is blank.
    """
    texts = (clean_text(task).strip(), render(payload) if payload is not None else "")
    text = "\n\n".join(filter(None, texts))
    if not text:
        raise EmptyTaskError("The task is empty: say what the agent should do.")
    return text
