"""What responses say of conversations, with what was said on them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, JsonValue

from heartbit_site.api.outputs import ConversationOut
from heartbit_site.contract.model import Next  # noqa: TC001
from heartbit_site.contract.runs import Status, UsageOut  # noqa: TC001


class ConversationRowOut(ConversationOut):
    """A conversation in a list."""

    heading: str = Field(description="Its title, or else the beginning of its first message.")
    active_at: str = Field(description="When something was last said; when it began, if nothing.")
    status: Status | None = Field(description="Of the last message's run; null: nothing was said.")


class ConversationPageOut(Schema):
    """Conversations, the one last used first."""

    conversations: list[ConversationRowOut]
    next: Next


class HelperOut(Schema):
    """A sub-agent's run."""

    run: str
    agent: str
    task: str = Field(description="Its beginning.")
    status: Status


class TextStepOut(Schema):
    """What the agent said on the way to its answer."""

    kind: Literal["text"]
    text: str
    html: str = Field(description="The same Markdown as sanitised HTML.")


class CallStepOut(Schema):
    """A tool call; of long arguments and results only the beginning is here, the run has all."""

    kind: Literal["call"]
    call: str
    tool: str
    arguments: str = Field(description="JSON as the model wrote it.")
    status: str = Field(description="pending, waiting, ok, error, timeout, invalid ...")
    result: str | None
    duration_ms: int | None
    helpers: list[HelperOut] = Field(description="The sub-agents it waits for.")


class SteerStepOut(Schema):
    """What a person said while the agent worked."""

    kind: Literal["steer"]
    text: str
    by: str
    at: str


StepOut = Annotated[TextStepOut | CallStepOut | SteerStepOut, Field(discriminator="kind")]


class MessageOut(Schema):
    """A message and what answers it: one run."""

    run: str
    status: Status
    held: bool = Field(description="It starts when the run before it has ended.")
    text: str = Field(description="What was said.")
    started_by: str = Field(description="Who said it; empty: nobody is named.")
    created_at: str
    finished_at: str | None
    steps: list[StepOut] = Field(description="What happened before the answer, in its order.")
    answer: str | None = Field(description="Null: none yet; of a run that failed what there was.")
    html: str = Field(description="The answer's Markdown as sanitised HTML.")
    structured: JsonValue = Field(description="The answer as the agent's response schema wants it.")
    error: dict[str, Any] | None
    model: str
    usage: UsageOut = Field(description="With its sub-agents.")
    cost_usd: str | None = Field(description="With its sub-agents; null: a price is unknown.")


class ThreadOut(ConversationRowOut):
    """A conversation with its last messages, the oldest first."""

    messages: list[MessageOut]
    before: str | None = Field(
        description="For `before`: the messages before these; null: there are none."
    )
