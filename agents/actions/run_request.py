"""Request for a run, in the form that every caller creates and may repeat."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from uuid import UUID

from agents.actions.write_agents import ORCHESTRATOR
from agents.choices import BusyPolicy, Placement
from agents.delivery.targets import Target
from agents.errors import EmptyTaskError, IdempotencyMismatchError
from agents.journal.events import Event, RunSteered
from agents.llm.messages import ToolCall
from agents.models import AgentVersion, Conversation, Run, RunEvent
from agents.output.payload import TaskPayload, render
from agents.reads.agents import find_agent
from agents.runs.idempotency_keys import InternalKey
from heartbit_site.base.audit import NOBODY, Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.pictures import Picture
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text


def start_conversation(
    workspace: Workspace,
    *,
    agent: str,
    title: str = "",
    busy_policy: BusyPolicy = BusyPolicy.QUEUE,
    origin: str = "",
    private_to: int | None = None,
    by: Actor = NOBODY,
) -> Conversation:
    """Start a conversation with an agent; for ``origin`` see ``RunRequest``.

    Args:
        workspace: Workspace of the conversation.
        agent: Name of the agent that answers.
        title: Title in lists.
        busy_policy: Policy for a message while a run is active.
        origin: Set of agents to choose from.
        private_to: User id of the person who alone reads it (``agents.querysets.readable``); this
            stays. None: all members read it.
        by: The author.

    Raises:
        ForbiddenError: The author may not start runs.
        AgentNotFoundError: No published agent has that name.
    """
    require(by, "runs:write", workspace_id=workspace.pk)
    find_agent(workspace, agent, origin=origin)
    return Conversation.objects.create(
        workspace=workspace,
        agent=agent,
        origin=origin,
        title=title,
        busy_policy=busy_policy,
        private_to_id=private_to,
    )


@dataclass(frozen=True, slots=True)
class Fork:
    """Part of another run that a run begins with.

    Attributes:
        source: The run to fork.
        cut: Sequence number of the last event that is copied.
        version: Another version of the source's agent; None: the source's.
        changed: Payloads that differ from the source's, by sequence number.
        events: First events after the copied ones.
    """

    source: Run
    cut: int
    version: AgentVersion | None
    changed: Mapping[int, Mapping[str, Any]]
    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request for a run.

    Attributes:
        workspace: The run's workspace.
        task: The task for the agent; empty with a call: the call itself is shown in lists. It may
            also be empty with a payload or a fork.
        agent: The agent's name.
        origin: Set of agents to choose from: empty: those edited in the admin; else those of a
            configuration (``Agent.origin``).
        payload: The task in its long form; its text follows ``task``.
        call: The tool call that the run consists of (``call_of``), with the agent's bindings,
            approvals and limits; the worker validates it. None: a run of the version's kind.
        conversation: The conversation that the task is a message of; its agent is asked.
        busy_policy: Policy while a run still answers the conversation's last message; None: the
            conversation's.
        fork: Part of another run that it begins with, with that run's agent; None: no part.
        model: ``provider:model`` for the run and its children; empty: each agent's own.
        home: Placement of the run: fleet or local.
        priority: Higher starts first, among the workspace's runs.
        approve: True if every tool call, also of its sub-agents, waits for a person.
        review: Reviewers of the result (``base.review_policy``), unless the agent names its own;
            empty: no one.
        hops: Length of the chain of agents' schedules that led to the run, as in ``Run``.
        idempotency_key: Repeating the key in the same workspace returns the same run.
        by: The run's owner.
        files: Files of the run's folder, by path.
        deliveries: Targets of the result.
        thread: Earlier messages that the client sends along, each {task, output, steers}, and
            pictures if the task has some, which are stored as artifacts of the run.
        pictures: Pictures beside the task, which are stored as artifacts of the run.
        response_schema: Response schema in place of the agent's own; None: the agent's own.
        client: Data that the client's protocol returns with the run.
        client_tools: Tools that the client runs itself, each {name, description, parameters}.
        versions: Current versions of all agents of ``origin``, in the order of the agents' ids, as
            the caller knows them; None: any.
    """

    workspace: Workspace
    task: str = ""
    _: KW_ONLY
    agent: str = ORCHESTRATOR
    origin: str = ""
    payload: TaskPayload | None = None
    call: ToolCall | None = None
    conversation: Conversation | None = None
    busy_policy: BusyPolicy | None = None
    fork: Fork | None = None
    model: str = ""
    home: Placement = Placement.FLEET
    priority: int = 0
    approve: bool = False
    review: str = ""
    hops: int = 0
    idempotency_key: str | InternalKey | None = None
    by: Actor = NOBODY
    files: Mapping[str, bytes] = field(default_factory=dict)
    deliveries: Sequence[Target] = ()
    thread: Sequence[Mapping[str, Any]] = ()
    pictures: Sequence[Picture] = ()
    response_schema: Mapping[str, Any] | None = None
    client: Mapping[str, Any] = field(default_factory=dict)
    client_tools: Sequence[Mapping[str, Any]] = ()
    versions: Sequence[int] | None = None

    @property
    def asked(self) -> tuple[str, str]:
        """Name and origin of the agent."""
        if self.fork is not None:
            agent = self.fork.source.version.agent
            return agent.name, agent.origin
        if self.conversation is not None:
            return self.conversation.agent, self.conversation.origin
        return self.agent, self.origin

    @property
    def policy(self) -> BusyPolicy | None:
        """Policy for a message while a run is active; None: the request is no message."""
        if self.conversation is None:
            return None
        return BusyPolicy(self.busy_policy or self.conversation.busy_policy)

    @property
    def text(self) -> str:
        """The text that the agent reads, or that lists show for a call.

        Raises:
            EmptyTaskError: The text is blank.
        """
        if self.call is not None and not self.task:
            return clean_text(describe_call(self.call.name, self.call.arguments))
        return task_text(self.task, self.payload)


def call_of(tool: str, arguments: Mapping[str, object]) -> ToolCall:
    """Return the call of a run that consists of one tool call."""
    return ToolCall("call_0", tool, json.dumps(arguments, ensure_ascii=False))


def describe_call(tool: str, arguments: str) -> str:
    """Return the task text that lists show for such a run."""
    return f"{tool} {arguments}"


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


def refuse_other(request: RunRequest, key: str, used: UUID | None) -> None:
    """Raise if the key was used for another request; Heartbit's own requests may have changed.

    Args:
        request: The present request.
        key: Its idempotency key, as stored.
        used: The run that the key has started; None: it may have steered one.

    Raises:
        IdempotencyMismatchError: Conversation, agent or task differ.
    """
    if request.by.access is None or request.fork is not None or request.call is not None:
        return
    if used is not None:
        run = Run.objects.only("agent", "task", "conversation_id").get(pk=used)
        thread = request.conversation.pk if request.conversation is not None else None
        same = {
            "conversation": run.conversation_id == thread,
            "agent": run.agent == request.asked[0],
            "task": run.task == request.text,
        }
        _refuse(used, [name for name, is_same in same.items() if not is_same])
    elif request.conversation is not None:
        steered = RunEvent.objects.filter(
            run__conversation=request.conversation, type=RunSteered.type, payload__key=key
        )
        for run_id, text in steered.values_list("run_id", "payload__text")[:1]:
            _refuse(run_id, ["message"] if text != request.text else [])


def _refuse(run_id: UUID, others: list[str]) -> None:
    if others:
        raise IdempotencyMismatchError(
            f"The idempotency key was used for run {run_id}, which has another {others[0]}: send "
            "the same request again, or take another key."
        )
