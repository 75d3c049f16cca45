"""Turns of runs: request, answer and calls of the model; and forks from a turn."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Page, Text
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Noun
from heartbit_site.contract.runs import RunDetailOut, UsageOut


class TurnUsageOut(UsageOut):
    """Tokens of one model call."""

    cached_input_tokens: int


class TurnFiguresOut(View):
    """Use of one model call."""

    model: str
    usage: TurnUsageOut
    cost_usd: str | None = Field(description="US dollars; null if the price is unknown.")
    duration_ms: int
    answered_at: Time


class TurnRowOut(TurnFiguresOut):
    """Summary of one turn."""

    number: int
    text: str = Field(description="The text; a longer one is cut to 500 characters, ending with ….")
    text_characters: int = Field(description="Length of the whole text.")
    tools: list[str] = Field(description="Names of the tools that the model called.")
    complete: bool = Field(description="True if every call has a result.")


class TurnsOut(Page):
    """The answered turns of a run, the oldest first."""

    run_id: str
    turns: list[TurnRowOut]


class RequestedCallOut(View):
    """A call as the model wrote it."""

    id: str
    name: str
    arguments: str


class UserMessageOut(View):
    """A message to the model."""

    role: Literal["user"]
    text: str


class AssistantMessageOut(View):
    """A message of the model."""

    role: Literal["assistant"]
    text: str
    tool_calls: list[RequestedCallOut]


class ToolMessageOut(View):
    """Result of a call, as the model reads it."""

    role: Literal["tool"]
    call_id: str
    name: str
    content: str
    is_error: bool


Message = Annotated[
    UserMessageOut | AssistantMessageOut | ToolMessageOut, Field(discriminator="role")
]


class OfferedToolOut(View):
    """A tool as offered to the model."""

    name: str
    description: str
    parameters: dict[str, Any]


class TurnRequestOut(View):
    """The request to the model."""

    system: str
    messages: list[Message]
    omitted_messages: int = Field(
        description="Number of messages that the context strategy omitted."
    )
    tools: list[OfferedToolOut]
    changed_tools: list[str] = Field(
        description="Tools of the request whose definition has changed or is gone."
    )
    tool_choice: Literal["auto", "required", "none"]
    max_tokens: int
    temperature: float | None
    stop: list[str]
    reasoning_effort: str


class TurnAnswerOut(AssistantMessageOut):
    """The answer of the model."""

    finish_reason: str


class TurnDecisionOut(View):
    """A person's decision about a call."""

    status: str
    by: str | None
    reason: str | None
    arguments: str | None = Field(description="Arguments that ran, with status edited or answered.")


class TurnCallOut(View):
    """A tool call of the turn and its outcome."""

    call_id: str
    tool: str
    arguments: str
    effect: str
    status: str
    result: str | None
    duration_ms: int | None
    finished_at: Time | None
    decision: TurnDecisionOut | None
    runs: list[str] = Field(description="Runs of the sub-agents it waited for.")


class TurnOut(TurnFiguresOut):
    """One turn with all details."""

    run_id: str
    agent: str
    version: int
    number: int
    turn_count: int = Field(description="Number of turns of the run.")
    complete: bool
    request: TurnRequestOut
    answer: TurnAnswerOut
    calls: list[TurnCallOut]


class ForkIn(Body):
    """Start of a fork, and its edits."""

    turn: Annotated[int, Field(ge=0, le=100_000)] = Field(
        description="The last turn to keep; 0: only the task."
    )
    message: Text = Field("", description="Text for the next model call.")
    task: Text = Field("", description="Replacement of the run's task.")
    call_id: Annotated[str, Field(pattern=r"^(\d+\.\d+)?$", max_length=24)] = Field(
        "", description="Call of the turn to edit, such as 2.0; requires arguments or result."
    )
    arguments: dict[str, JsonValue] | None = Field(
        None, description="Replacement of the call's arguments: all calls of the turn run again."
    )
    result: Text | None = Field(
        None, description="Replacement of the call's result: nothing runs again."
    )
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None, description="Number of another version of the agent."
    )
    state: dict[str, JsonValue] | None = Field(
        None, description="New values of keys of a workflow's state."
    )


NOUN = Noun("turns", read=READ_RUNS, write=WRITE_RUNS)

LIST_TURNS = NOUN.get(
    "list_turns", "/runs/{run_id}/turns", TurnsOut, "List a run's turns", errors=(409,)
)
SHOW_TURN = NOUN.get("show_turn", "/runs/{run_id}/turns/{number}", TurnOut, errors=(409,))
FORK_RUN = NOUN.post(
    "fork_run", "/runs/{run_id}/fork", RunDetailOut, body=ForkIn, status=201,
    other_statuses=(200,), errors=(409,),
)  # fmt: skip
