"""Admission of runs: every request for a run passes through here, whatever its source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models.functions import Coalesce

from agents.actions.check_agent import check_reviewers
from agents.actions.fleet import wake_queue
from agents.actions.run_request import RunRequest, refuse_other
from agents.actions.write_run import Row, write_run
from agents.choices import BusyPolicy, Placement, RunKind
from agents.delivery.mail import new_message_id
from agents.delivery.targets import EmailTarget, Target
from agents.errors import (
    AgentNotFoundError,
    AgentsChangedError,
    ConversationBusyError,
    RunStateError,
)
from agents.journal.events import RunSteered
from agents.journal.memory_texts import is_recall
from agents.limits.pauses import raise_if_exceeded
from agents.live.changes import notify_on_commit
from agents.models import Agent, Conversation, Delivery, RecalledMemory, Run, RunEvent, ToolCall
from agents.models.draft import DRAFT
from agents.reads.agents import find_agent
from agents.runs.idempotency_keys import InternalKey, run_with, stored_key
from agents.runs.run_audit import record_of_run
from agents.runtime.files.folder import Folder
from agents.runtime.files.pictures import given_before, store_pictures
from agents.runtime.providers.preflight import has_obstacle, raise_if_not_ready
from agents.runtime.providers.sight import refuse_unseen
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from memory.history import MANAGE, sees_memories_of


def create_deliveries(run_id: UUID, workspace: Workspace, targets: Sequence[Target]) -> None:
    """Create a delivery of a run's result for each target; ``deliver_results`` sends it.

    Call this in the transaction that starts the run, so that no run lacks its deliveries. Repeated
    calls change nothing: a start repeated with the same idempotency key is delivered once.
    """
    orders = [
        Delivery(
            workspace=workspace,
            run_id=run_id,
            position=position,
            kind=target.kind,
            target=target.model_dump(),
            message_id=new_message_id() if isinstance(target, EmailTarget) else "",
        )
        for position, target in enumerate(targets)
    ]
    Delivery.objects.bulk_create(orders, ignore_conflicts=True)


def find_reached(request: RunRequest, key: str | None) -> tuple[list[Run], bool]:
    """Return the active runs that a message interrupts or steers, and whether it steers.

    A repeated message reaches no run, and steers if it steered the first time, whatever the state
    of its run. The conversation is locked first, as in the SQL function.
    """
    if request.conversation is None or request.policy in (BusyPolicy.QUEUE, BusyPolicy.REJECT):
        return [], False
    Conversation.objects.select_for_update(no_key=True).filter(pk=request.conversation.pk).first()
    runs = Run.objects.filter(conversation=request.conversation)
    steered = RunEvent.objects.filter(run__in=runs, type=RunSteered.type, payload__key=key)
    if key is not None and steered.exists():
        return [], True
    reached = list(runs.filter(finished_at__isnull=True, cancel_requested=False).order_by("pk"))
    # Runs of other kinds read no messages: the message waits for their end.
    steers = request.policy is BusyPolicy.STEER and any(
        one.kind == RunKind.AGENT for one in reached
    )
    return reached, steers


def record_reached(request: RunRequest, row: Row, reached: Iterable[Run]) -> None:
    """Record in the audit what the message did to the runs."""
    for run in reached:
        if row.outcome == "steered" and run.pk == row.run_id:
            record_of_run(request.by, "steer", run)
        elif row.is_new and request.policy is BusyPolicy.INTERRUPT:
            record_of_run(request.by, "cancel", run, reason="interrupted by a new message")


def refuse_extras(request: RunRequest, run_id: UUID) -> None:
    """Raise if a steering message has deliveries, files or pictures, which need a run of its own.

    Raises:
        ConversationBusyError: The message has them.
    """
    if request.deliveries:  # the result goes to the run's own recipients only
        raise ConversationBusyError(
            f"The message would steer the active run {run_id}, so it has no result to deliver. "
            "Wait for it, or leave out deliver."
        )
    if request.files:  # they would change its folder under its hands
        raise ConversationBusyError(
            f"The conversation is busy with run {run_id}, whose folder takes no files now. Wait "
            "for it, or leave out files and archive."
        )
    if request.pictures:  # a steering message is text
        raise ConversationBusyError(
            f"The message would steer the active run {run_id}, which takes text alone meanwhile. "
            "Send the pictures with busy_policy queue, or leave them out."
        )


def refuse_reader(run: Run, by: Actor) -> None:
    """Raise unless the author may read the personal memories that the run's tree has recalled.

    Locks the tree's root, so that no memory is recalled before the author's words are journaled.

    Raises:
        ForbiddenError: The author may not read them.
    """
    root = Run.objects.select_for_update(no_key=True).filter(pk=run.root_id).first()
    if root is None:
        return
    hidden = sorted(user for user in _remembered(root) if not _sees(by, user))
    if not hidden:
        return
    people = get_user_model().objects.filter(pk__in=hidden).order_by("username")
    names = " and ".join(people.values_list("username", flat=True))
    raise ForbiddenError(
        f"Run {run.pk} has recalled memories of {names}, and would tell them to you: only {names} "
        "and those who manage the workspace may say something to it. Start a run of your own.",
        MANAGE,
    )


def _remembered(root: Run) -> set[int]:
    """Return the persons whose memories the tree has in its context."""
    rows = RecalledMemory.objects.filter(run__root=root)
    found = set(rows.values_list(Coalesce("item__user", "person"), flat=True))
    if root.started_user_id is not None and root.started_user_id not in found:
        names = ToolCall.objects.filter(run__root=root).values_list("tool", flat=True)
        if any(map(is_recall, names.distinct())):
            found.add(root.started_user_id)
    return {user for user in found if user is not None}


def _sees(by: Actor, user_id: int) -> bool:
    if by.access is not None:
        return sees_memories_of(by.access, user_id)
    # Heartbit itself, or a program that owns the database.
    return by.user_id == user_id or (by.via == "system" and by.user_id is None)


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
        ForbiddenError: The owner may not start runs, or not edit the agent whose draft is tested,
            or the message or the fork would reveal memories that they may not read.
        NoWorkspaceError: The owner's rights apply to another workspace.
        EmptyTaskError: The task is blank.
        ReservedKeyError: The idempotency key begins with a prefix reserved for Heartbit.
        IdempotencyMismatchError: The key was used for another request.
        AgentsChangedError: ``versions`` are outdated, or none of these agents takes runs; repeat
            the request without them.
        AgentNotFoundError: No published agent has that name, or it is stopped.
        ConversationBusyError: A run is active, and the message is refused by policy or brings
            deliveries or files for a run of its own.
        HaltedError: The workspace or the installation is stopped.
        QuotaExceededError: The workspace or the agent has reached a run quota.
        ModelUnreachableError: A run would start, and no model that the agent may use is available.
        NoSandboxError: A run would start, and there is no sandbox for its agent's code.
        UnseenPicturesError: The run's model reads text alone, or the agent is a workflow.
        InvalidSettingError: No one could review the run's result.
        FolderError: The files are not valid for the run's folder.
    """
    require(request.by, "runs:write", workspace_id=request.workspace.pk)
    if request.asked[1] == DRAFT:  # what no one has published runs only for those who may edit it
        require(request.by, "agents:write", workspace_id=request.workspace.pk)
    check_reviewers(request.workspace, request.review, "The run")
    key = repeatable = stored_key(request.idempotency_key)
    if isinstance(request.idempotency_key, InternalKey) and request.idempotency_key.is_fresh:
        repeatable = None
    shown = any("pictures" in one for one in request.thread)
    beside = (request.files, request.deliveries, request.pictures, shown)
    # Else one statement, which is atomic by itself.
    is_more = any((repeatable, request.conversation, request.fork, *beside))
    with transaction.atomic() if is_more else nullcontext():
        used = run_with(request.workspace, repeatable)
        if repeatable is not None:
            refuse_other(request, repeatable, used)
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
        store_pictures(row.run_id, request.pictures)
        for number, earlier in enumerate(request.thread):
            store_pictures(row.run_id, earlier.get("pictures", ()), given_before(number))
        create_deliveries(row.run_id, request.workspace, request.deliveries)
        if request.home is Placement.FLEET:
            wake_queue(row.run_id, row.queue)
    # An interruption ends another run together with its waiting calls.
    notify_on_commit(request.workspace.pk, "runs", *(("calls",) if reached else ()))
    return Admitted(row.run_id, _OUTCOMES.get(row.outcome, "started"), row.is_new)


def _refuse_unready(request: RunRequest) -> None:
    if request.pictures:
        refuse_unseen(_agent(request), request.model)
    forked = request.fork
    asks_a_model = request.call is None and (forked is None or forked.source.kind == RunKind.AGENT)
    if asks_a_model and has_obstacle(request.workspace.pk, request.home):
        task = request.text if forked is None else forked.source.task
        raise_if_not_ready(_agent(request), request.model, request.home, task)


def _agent(request: RunRequest) -> Agent:
    name, origin = request.asked
    return find_agent(request.workspace, name, origin=origin)


def _refusal(request: RunRequest) -> Exception:
    """Return why the database refused the run; raise for an agent, a stop or a quota."""
    if request.versions is not None:
        return AgentsChangedError("The agents were changed meanwhile: look for them again.")
    agent = _agent(request)
    if agent.origin == DRAFT:  # its tests count as runs of the agent
        agent = find_agent(request.workspace, agent.name)
    raise_if_exceeded(agent)
    if request.fork is not None:
        return RunStateError(f"Run {request.fork.source.pk} is gone.")
    return AgentNotFoundError(
        f"The agent {agent.name!r} was published this very moment: try again."
    )
