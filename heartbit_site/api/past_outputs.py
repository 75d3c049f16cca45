"""What responses say of the past: a run's turns, and an agent's versions."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from heartbit_site.contract.model import Next  # noqa: TC001


class TurnUsageOut(Schema):
    """Tokens of one model call."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int


class TurnFiguresOut(Schema):
    """What one model call took."""

    model: str
    usage: TurnUsageOut
    cost_usd: str | None = Field(description="Null: the price is unknown.")
    duration_ms: int
    answered_at: str


class TurnRowOut(TurnFiguresOut):
    """One turn in short."""

    turn: int
    text: str = Field(description="Its first 500 characters, the last of them … if it is longer.")
    text_characters: int = Field(description="Length of the whole text.")
    tools: list[str] = Field(description="What the model called.")
    complete: bool = Field(description="Whether every call has its result.")


class TurnsOut(Schema):
    """The answered turns of a run, the oldest first."""

    run: str
    turns: list[TurnRowOut]
    next: Next


class AskedCallOut(Schema):
    """A call as the model wrote it."""

    id: str
    name: str
    arguments: str


class OfferedToolOut(Schema):
    """A tool as the model saw it."""

    name: str
    description: str
    parameters: dict[str, Any]


class TurnRequestOut(Schema):
    """What the model was sent."""

    system: str
    messages: list[dict[str, Any]] = Field(
        description="By role: user (text), assistant (text, tool_calls), tool (name, content)."
    )
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


class TurnAnswerOut(Schema):
    """What the model answered."""

    role: Literal["assistant"]
    text: str
    tool_calls: list[AskedCallOut]
    finish_reason: str


class CallDecisionOut(Schema):
    """What a person decided about a call."""

    status: str
    by: str | None
    reason: str | None
    arguments: str | None = Field(description="With status edited or answered: what ran.")


class TurnCallOut(Schema):
    """A tool call of the turn, and what came of it."""

    call: str
    tool: str
    arguments: str
    effect: str
    status: str
    result: str | None
    duration_ms: int | None
    finished_at: str | None
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


class VersionOut(Schema):
    """A version of an agent."""

    number: int
    hash: str
    created_at: str | None
    current: bool
    runs: int = Field(description="How many runs are pinned to it.")


class VersionsOut(Schema):
    """Those of an agent, the newest first."""

    agent: str
    versions: list[VersionOut]
    next: Next


class VersionDetailOut(VersionOut):
    """A version with its content."""

    agent: str
    snapshot: dict[str, Any]


class FieldChangeOut(Schema):
    """A setting that changed."""

    name: str
    before: Any
    after: Any


class PartChangeOut(Schema):
    """A tool or team member that came, went or changed."""

    name: str
    kind: Literal["added", "removed", "changed"]
    definition: bool = Field(description="Whether what the model is told of it is other.")
    fields: list[FieldChangeOut]


class DiffOut(Schema):
    """What changed from one version to another."""

    agent: str
    older: int
    newer: int
    changed: bool
    prompt: str = Field(description="A unified diff; empty: the same.")
    fields: list[FieldChangeOut]
    tools: list[PartChangeOut]
    team: list[PartChangeOut]


class RolledBackOut(Schema):
    """What the agent is now."""

    agent: str
    version: int = Field(description="The current one now.")
    wanted: int
    differs: str = Field(description="What is not as in the wanted version; empty: nothing.")
