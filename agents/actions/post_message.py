"""Post a message to a conversation: a new run answers it, or the running one is steered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from django.db import transaction

from agents.actions.refuse_reader import refuse_reader
from agents.actions.start_run import task_text
from agents.actions.wake_run import wake_queue
from agents.choices import BusyPolicy, Placement
from agents.errors import ConversationBusyError
from agents.journal.events import RunSteered
from agents.limits.quotas import raise_if_exceeded
from agents.live.changes import notify_on_commit
from agents.models import Conversation, Run, RunEvent
from agents.reads.agents import find_agent
from agents.runs.idempotency_keys import stored_key
from agents.runs.run_audit import record_of_run
from agents.runtime.providers.preflight import has_obstacle, raise_if_not_ready
from heartbit_site.base.audit import NOBODY, Actor
from heartbit_site.base.ids import new_id
from heartbit_site.base.query import fetch_one

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from agents.runs.idempotency_keys import InternalKey
    from heartbit_site.base.models import Workspace

_CONVERSE = (
    "SELECT * FROM heartbit_converse("
    "%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, p_hops => %s)"
)
Outcome = Literal["started", "queued", "steered"]


@dataclass(frozen=True, slots=True)
class Posted:
    """Result of posting a message.

    Attributes:
        run_id: The run that answers the message.
        outcome: ``started``: its run starts now; ``queued``: it starts when the run before it has
            ended; ``steered``: the message was given to the running run.
    """

    run_id: UUID
    outcome: Outcome


def start_conversation(
    workspace: Workspace,
    *,
    agent: str,
    title: str = "",
    busy_policy: BusyPolicy = BusyPolicy.QUEUE,
    origin: str = "",
) -> Conversation:
    """Start a conversation with an agent; for ``origin`` see ``start_run``.

    Raises:
        AgentNotFoundError: No published agent has that name.
    """
    find_agent(workspace, agent, origin=origin)
    return Conversation.objects.create(
        workspace=workspace,
        agent=agent,
        origin=origin,
        title=title,
        busy_policy=busy_policy,
    )


@transaction.atomic
def post_message(
    conversation: Conversation,
    text: str,
    *,
    by: Actor = NOBODY,
    model: str = "",
    home: Placement = Placement.FLEET,
    idempotency_key: str | InternalKey | None = None,
    busy_policy: BusyPolicy | None = None,
    approve: bool = False,
    hops: int = 0,
) -> Posted:
    """Give a message to the conversation's agent, whose run knows the earlier messages.

    Args:
        conversation: The conversation.
        text: The message.
        by: The author.
        model: ``provider:model`` for this run and its children; empty: each agent's own.
        home: Placement of the run: fleet or local.
        idempotency_key: Repeating the key in the same workspace returns the same run.
        busy_policy: Policy while a run still answers the last message; None: the conversation's.
        approve: True if every tool call of this run waits for a person.
        hops: Number of agents' plans in a row that led to the message, as in ``Run``; a steered
            run keeps its own.

    Raises:
        EmptyTaskError: ``text`` is blank.
        ReservedKeyError: The idempotency key begins with a prefix reserved for Heartbit.
        AgentNotFoundError: The conversation's agent is gone or stopped.
        ConversationBusyError: The policy is to refuse the message, and a run is active.
        ForbiddenError: The message would steer a run that has recalled memories that the author
            may not read.
        QuotaExceededError: The workspace or the agent has reached a run quota.
        ModelUnreachableError: No model that the agent may ask answers, and a run would start.
        NoSandboxError: A run would start, and its agent has no sandbox for its code.
    """
    policy = BusyPolicy(busy_policy or conversation.busy_policy)
    key = stored_key(idempotency_key)
    reached, steers = _reached(conversation, policy, key)
    if not steers and has_obstacle(conversation.workspace_id, home):
        agent = find_agent(conversation.workspace, conversation.agent, origin=conversation.origin)
        raise_if_not_ready(agent, model, home, key=key)
    _check_steered(reached if steers else (), by)
    run_id = new_id()
    parameters = (
        conversation.pk,
        policy.value,
        run_id,
        conversation.workspace_id,
        conversation.agent,
        task_text(text, None),
        home.value,
        0,
        model,
        key,
        conversation.origin,
        approve,
        None,
        by.name,
        by.user_id,
        hops,
    )
    row: tuple[UUID, str, bool, str] | None = fetch_one(_CONVERSE, parameters)
    if row is None:
        agent = find_agent(conversation.workspace, conversation.agent, origin=conversation.origin)
        raise_if_exceeded(agent)
        raise ConversationBusyError("The agent was published this very moment: try again.")
    accepted, queue, is_new, outcome = row
    if outcome == "refused":
        raise ConversationBusyError(
            f"The conversation is busy with run {accepted}: wait for it, or cancel it."
        )
    for run in reached:
        if outcome == "steered" and run.pk == accepted:
            record_of_run(by, "steer", run)
        elif is_new and policy is BusyPolicy.INTERRUPT:
            record_of_run(by, "cancel", run, reason="interrupted by a new message")
    if home is Placement.FLEET and is_new:
        wake_queue(accepted, queue)
    # An interruption ends another run together with its waiting calls.
    notify_on_commit(conversation.workspace_id, "runs", "calls")
    match outcome:
        case "held":
            return Posted(accepted, "queued")
        case "steered":
            return Posted(accepted, "steered")
        case _:
            return Posted(accepted, "started")


def _check_steered(reached: Iterable[Run], by: Actor) -> None:
    for run in reached:
        refuse_reader(run, by)


def _reached(
    conversation: Conversation, policy: BusyPolicy, key: str | None
) -> tuple[list[Run], bool]:
    """Return the active runs that the message interrupts or steers, and whether it steers.

    A repeated message steers as it did, whatever has become of its run, and reaches none.
    The conversation is locked first, as the SQL function does.
    """
    if policy not in (BusyPolicy.INTERRUPT, BusyPolicy.STEER):
        return [], False
    Conversation.objects.select_for_update(no_key=True).filter(pk=conversation.pk).first()
    runs = Run.objects.filter(conversation=conversation)
    steered = RunEvent.objects.filter(run__in=runs, type=RunSteered.type, payload__key=key)
    if key is not None and steered.exists():
        return [], True
    reached = list(runs.filter(finished_at__isnull=True, cancel_requested=False).order_by("pk"))
    return reached, policy is BusyPolicy.STEER and bool(reached)
