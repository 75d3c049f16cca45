"""Admit a run: the one way to one, whichever door the request came by."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from django.db import transaction

from agents.actions.create_deliveries import create_deliveries
from agents.actions.reached_runs import find_reached, record_reached, refuse_extras
from agents.actions.refuse_reader import refuse_reader
from agents.actions.repeated_request import refuse_other
from agents.actions.wake_run import wake_queue
from agents.actions.write_run import write_run
from agents.choices import Placement, RunKind
from agents.errors import (
    AgentNotFoundError,
    AgentsChangedError,
    ConversationBusyError,
    RunStateError,
)
from agents.limits.quotas import raise_if_exceeded
from agents.live.changes import notify_on_commit
from agents.models import Agent
from agents.reads.agents import find_agent
from agents.runs.idempotency_keys import run_with, stored_key
from agents.runtime.files.folder import Folder
from agents.runtime.providers.preflight import has_obstacle, raise_if_not_ready
from heartbit_site.base.rights import require

if TYPE_CHECKING:
    from agents.actions.run_request import RunRequest

Outcome = Literal["started", "queued", "steered"]
_OUTCOMES: dict[str, Outcome] = {"held": "queued", "steered": "steered"}


@dataclass(frozen=True, slots=True)
class Admitted:
    """The run that answers a request.

    Attributes:
        run_id: The run; from here on it is durable.
        outcome: ``started``: it starts now; ``queued``: it starts when the run before it has
            ended; ``steered``: the message was given to this running run.
        is_new: True if the request has created it: no earlier one had its idempotency key.
    """

    run_id: UUID
    outcome: Outcome = "started"
    is_new: bool = False


def admit(request: RunRequest) -> Admitted:
    """Check a request, write its run and, on the fleet, wake the run's queue after the commit.

    Raises:
        ForbiddenError: The owner may not start runs, or the message or the fork would tell them
            memories that they may not read.
        NoWorkspaceError: The owner's rights are those of another workspace.
        EmptyTaskError: The task is blank.
        ReservedKeyError: The idempotency key begins with a prefix reserved for Heartbit.
        IdempotencyMismatchError: It was used for another request.
        AgentsChangedError: ``versions`` are others now, or none of these agents can be asked; ask
            without them.
        AgentNotFoundError: No published agent has that name, or it is stopped.
        ConversationBusyError: A run is active, and the message is refused by policy or brings
            deliveries or files for a run of its own.
        HaltedError: The workspace or the installation is stopped.
        QuotaExceededError: The workspace or the agent has reached a run quota.
        ModelUnreachableError: No model that the agent may ask answers, and a run would start.
        NoSandboxError: A run would start, and its agent has no sandbox for its code.
        FolderError: The run's folder cannot have such files.
    """
    require(request.by, "runs:write", workspace_id=request.workspace.pk)
    key = stored_key(request.idempotency_key)
    more = key or request.conversation or request.fork or request.files or request.deliveries
    # Else one statement, which is atomic by itself.
    with transaction.atomic() if more else nullcontext():
        used = run_with(request.workspace, key)
        if key is not None:
            refuse_other(request, key, used)
        return _admit(request, key) if used is None else Admitted(used)


def _admit(request: RunRequest, key: str | None) -> Admitted:
    reached, steers = find_reached(request, key)
    if not steers:
        _refuse_unready(request)
    for run in reached if steers else ():
        refuse_reader(run, request.by)
    row = write_run(request, key)
    if row is None:
        raise _refusal(request)
    if row.outcome == "refused":
        raise ConversationBusyError(
            f"The conversation is busy with run {row.run_id}: wait for it, or cancel it."
        )
    if row.outcome == "steered":
        refuse_extras(request, row.run_id)  # undoes the message
    record_reached(request, row, reached)
    if row.is_new:
        Folder.give(row.run_id, request.files)
        create_deliveries(row.run_id, request.workspace, request.deliveries)
        if request.home is Placement.FLEET:
            wake_queue(row.run_id, row.queue)
    # An interruption ends another run together with its waiting calls.
    notify_on_commit(request.workspace.pk, "runs", *(("calls",) if reached else ()))
    return Admitted(row.run_id, _OUTCOMES.get(row.outcome, "started"), row.is_new)


def _refuse_unready(request: RunRequest) -> None:
    forked = request.fork
    asks_a_model = request.call is None and (forked is None or forked.source.kind == RunKind.AGENT)
    if asks_a_model and has_obstacle(request.workspace.pk, request.home):
        raise_if_not_ready(_agent(request), request.model, request.home)


def _agent(request: RunRequest) -> Agent:
    name, origin = request.asked
    return find_agent(request.workspace, name, origin=origin)


def _refusal(request: RunRequest) -> Exception:
    """Return why the database takes no such run; the agent, a stop or a quota raises at once."""
    if request.versions is not None:
        return AgentsChangedError("The agents were changed meanwhile: look for them again.")
    agent = _agent(request)
    raise_if_exceeded(agent)
    if request.fork is not None:
        return RunStateError(f"Run {request.fork.source.pk} is gone.")
    return AgentNotFoundError(
        f"The agent {agent.name!r} was published this very moment: try again."
    )
