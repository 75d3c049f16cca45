"""Turns of runs: what the model was sent, what it answered, what its calls gave."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from heartbit_site.contract.model import Next, Time, View
from heartbit_site.contract.operation import READ_RUNS, Operation


class TurnUsageOut(View):
    """Tokens of one model call."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int


class TurnFiguresOut(View):
    """What one model call took."""

    model: str
    usage: TurnUsageOut
    cost_usd: str | None = Field(description="Null: the price is unknown.")
    duration_ms: int
    answered_at: Time


class TurnRowOut(TurnFiguresOut):
    """One turn in short."""

    turn: int
    text: str = Field(description="Its first 500 characters, the last of them … if it is longer.")
    text_characters: int = Field(description="Length of the whole text.")
    tools: list[str] = Field(description="What the model called.")
    complete: bool = Field(description="Whether every call has its result.")


class TurnsOut(View):
    """The answered turns of a run, the oldest first."""

    run: str
    turns: list[TurnRowOut]
    next: Next


class RequestedCallOut(View):
    """A call as the model wrote it."""

    id: str
    name: str
    arguments: str


class UserMessageOut(View):
    """What the model was told."""

    role: Literal["user"]
    text: str


class AssistantMessageOut(View):
    """What the model said."""

    role: Literal["assistant"]
    text: str
    tool_calls: list[RequestedCallOut]


class ToolMessageOut(View):
    """What a call gave, as the model was told."""

    role: Literal["tool"]
    call_id: str
    name: str
    content: str
    is_error: bool


Message = Annotated[
    UserMessageOut | AssistantMessageOut | ToolMessageOut, Field(discriminator="role")
]


class OfferedToolOut(View):
    """A tool as the model saw it."""

    name: str
    description: str
    parameters: dict[str, Any]


class TurnRequestOut(View):
    """What the model was sent."""

    system: str
    messages: list[Message]
    left_out: int = Field(description="Messages that the context strategy did not send.")
    tools: list[OfferedToolOut]
    changed_tools: list[str] = Field(
        description="Offered then, but defined otherwise or gone now: not among the tools here."
    )
    tool_choice: Literal["auto", "required", "none"]
    max_tokens: int
    temperature: float | None
    stop: list[str]
    reasoning_effort: str


class TurnAnswerOut(AssistantMessageOut):
    """What the model answered."""

    finish_reason: str


class CallDecisionOut(View):
    """What a person decided about a call."""

    status: str
    by: str | None
    reason: str | None
    arguments: str | None = Field(description="With status edited or answered: what ran.")


class TurnCallOut(View):
    """A tool call of the turn, and what came of it."""

    call: str
    tool: str
    arguments: str
    effect: str
    status: str
    result: str | None
    duration_ms: int | None
    finished_at: Time | None
    decision: CallDecisionOut | None
    runs: list[str] = Field(description="Runs of the sub-agents it waited for.")


class TurnOut(TurnFiguresOut):
    """One turn with everything that is known of it."""

    run: str
    agent: str
    version: int
    turn: int
    turns: int = Field(description="How many the run has.")
    complete: bool
    request: TurnRequestOut
    answer: TurnAnswerOut
    calls: list[TurnCallOut]


LIST_TURNS = Operation(
    "turns.list_turns", "GET /runs/{run_id}/turns", TurnsOut, "A run's turns", READ_RUNS,
    errors=(409,), rows="turns",
)  # fmt: skip
SHOW_TURN = Operation(
    "turns.show_turn", "GET /runs/{run_id}/turns/{number}", TurnOut, "A turn", READ_RUNS,
    errors=(409,),
)  # fmt: skip
