"""State of an agent's run: its conversation with the model, and what the limits count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pydantic import Field

from agents.context import summary
from agents.journal.events import (
    BudgetAsked,
    ContextSummarized,
    MemoriesRecalled,
    ModelAnswered,
    ModelInterrupted,
    RunCreated,
    RunForked,
    RunStarted,
    RunSteered,
    ToolFinished,
    WaitResolved,
)
from agents.journal.folding import folds
from agents.journal.waits import BUDGET
from agents.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agents.loop.call_state import CallingState, CallState
from agents.loop.past_runs import to_messages
from agents.loop.state import requested_changes
from agents.output import respond

POOR_ANSWERS = 2  # in a row, then the stronger model takes over


@dataclass(slots=True)
class AgentState(CallingState):
    """State of a run of the kind ``agent``.

    Attributes:
        model: ``provider:model`` of this run, fixed at its first start.
        turn: Model answers so far.
        steered_turn: Last turn whose answer precedes a person's message.
        conversation: Messages, oldest first, beginning with the earlier runs of the run's thread; a
            turn's results are added together when all its calls are finished.
        answers: Number of final answers that the model gave or tried to give.
        poor_answers: Number of unusable answers in a row, up to the last one.
        escalated: True once the stronger model takes over after too many unusable answers.
        finish_reason: Finish reason of the model's last answer.
        has_artifacts: True once a result was too long for the model and stored as an artifact.
        recalled: True once the run was given memories at its start.
        response_schema: Response schema in place of the agent's own; None: the agent's own.
        may_delegate: True if the run delegates to its team although it is a child.
        budget_asks: Number of questions about budgets.
        stopped_by: Owner who has stopped the run at a budget's question; empty: no one.
        client_tools: Tools that the client runs itself, as in ``RunCreated``.
        streamed: Text of the model call in flight; not journaled.
    """

    model: str = ""
    turn: int = 0
    steered_turn: int = 0
    conversation: list[Message] = field(default_factory=list)
    answers: int = 0
    poor_answers: int = 0
    escalated: bool = False
    finish_reason: str = "stop"
    has_artifacts: bool = False
    recalled: bool = False
    response_schema: dict[str, Any] | None = None
    may_delegate: bool = False
    client_tools: tuple[dict[str, Any], ...] = ()
    budget_asks: int = 0
    stopped_by: str = ""
    last_text: str = ""
    streamed: Annotated[str, Field(exclude=True)] = ""
    _task_index: int | None = None

    @classmethod
    def begin(cls, thread: Sequence[Message]) -> Self:
        """Return the state before the first event (see ``RunState``)."""
        return cls(conversation=list(thread))

    @folds(RunCreated)
    def _open_conversation(self, created: RunCreated) -> None:
        self.response_schema = created.response_schema
        self.may_delegate = created.may_delegate
        self.client_tools = created.client_tools
        self.conversation += to_messages(created.thread)
        self._task_index = len(self.conversation)
        self.conversation.append(UserMessage(created.task, created.images))

    @folds(RunStarted)
    def _fix_model(self, started: RunStarted) -> None:
        self.model = self.model or started.model

    @folds(RunForked)
    def _release_model(self, _: RunForked) -> None:
        self.stopped_by = ""
        self.model = ""  # chosen at the fork's own first start: its version may differ

    @folds(RunSteered)
    def _grant_turns(self, steered: RunSteered) -> None:
        if steered.source == "person":  # two agents that answer each other would never stop
            self.steered_turn = self.turn

    @folds(WaitResolved)
    def _hear_person(self, resolved: WaitResolved) -> None:
        if requested_changes(resolved) is not None:
            self.steered_turn = self.turn

        if resolved.kind == BUDGET.name:
            self._forget(resolved.key)
            if (resolved.value.get("answer") or {}).get("decision") != "continue":
                self.stopped_by = str(resolved.value.get("by", ""))

    @folds(BudgetAsked)
    def _ask_owner(self, asked: BudgetAsked) -> None:
        self.budget_asks = asked.number

    @folds(ModelAnswered)
    def _answer(self, answer: ModelAnswered) -> None:
        self.turn = answer.turn
        self.attempts = 0
        self.finish_reason = answer.finish_reason
        self.conversation += [UserMessage(w.text) for w in self.inbox if w.seq <= answer.seen]
        self.inbox = [word for word in self.inbox if word.seq > answer.seen]
        self.conversation.append(answer.message)
        self._spent(answer.usage, answer.cost_usd)
        self.last_text = answer.message.text or self.last_text
        self.streamed = ""
        asked = [call.name for call in answer.message.tool_calls]
        by_person = any(word.source == "person" for word in self.inbox)
        if by_person:
            self.steered_turn = answer.turn  # only the next answer can take the message in
        if by_person or self.steered_turn >= answer.turn - 1 > 0:
            self.answers = self.poor_answers = 0  # the task has changed: the answer did not fail
        elif not self.inbox:  # with messages left, another answer follows anyway
            self.answers += not asked or respond.NAME in asked
            if not asked:
                self._judge(poor=True)  # harmless if the answer is accepted: the run ends then
        self._open_calls(answer.turn, answer.message.tool_calls)

    @folds(ModelInterrupted)
    def _count_interrupted(self, interrupted: ModelInterrupted) -> None:
        self._spent(interrupted.usage, interrupted.cost_usd)

    @folds(ContextSummarized)
    def _summarize(self, summarized: ContextSummarized) -> None:
        task = self.task_message
        replaced = summary.replace(
            tuple(self.conversation), summarized.upto, summarized.text, task=task
        )
        self.conversation = list(replaced)
        self._task_index = next((n for n, one in enumerate(replaced) if one is task), None)
        self._spent(summarized.usage, summarized.cost_usd)

    @folds(MemoriesRecalled)
    def _recall(self, _: MemoriesRecalled) -> None:
        self.recalled = True

    @folds(ToolFinished)
    def _note_artifact(self, finished: ToolFinished) -> None:
        self.has_artifacts = self.has_artifacts or finished.artifact != ""

    def _close_calls(self, calls: list[CallState]) -> None:
        for state in calls:
            if (result := state.finished) is not None:
                self.conversation.append(
                    ToolMessage(
                        call_id=state.call.id,
                        name=state.call.name,
                        content=result.content,
                        is_error=result.status != "ok",
                        images=result.images,
                    )
                )
        self._judge(poor=all(one.finished and one.finished.status == "invalid" for one in calls))

    def _judge(self, *, poor: bool) -> None:
        """Count unusable answers in a row: empty, of a wrong form, or without a valid call."""
        self.poor_answers = self.poor_answers + 1 if poor else 0
        self.escalated = self.escalated or self.poor_answers >= POOR_ANSWERS

    @property
    def task_message(self) -> Message | None:
        """The task in the conversation, whose earlier messages may say the same."""
        return None if self._task_index is None else self.conversation[self._task_index]

    @property
    def partial(self) -> str:
        """Text to report for a run that is stopped now."""
        return self.streamed or self.last_text

    @property
    def answer(self) -> AssistantMessage | None:
        """Last message of the model, unless results or messages followed."""
        return None if self.inbox else self._last

    @property
    def answer_before_agent_message(self) -> AssistantMessage | None:
        """Last message of the model, if only agents' messages followed."""
        by_agents = all(word.source == "agent" for word in self.inbox)
        return self._last if self.inbox and by_agents else None

    @property
    def _last(self) -> AssistantMessage | None:
        last = self.conversation[-1] if self.conversation else None
        return last if isinstance(last, AssistantMessage) and self.turn else None

    @property
    def messages(self) -> tuple[Message, ...]:
        """Conversation of the next model call, including unanswered messages to the run."""
        return (*self.conversation, *(UserMessage(word.text) for word in self.inbox))
