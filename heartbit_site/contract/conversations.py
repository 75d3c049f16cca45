"""Conversations: threads with an agent, and what was said on them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from heartbit_site.base.view import Id, Money, Time, View
from heartbit_site.contract.model import Body, Name, Page, Reference, Text, Word, changes
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Operation
from heartbit_site.contract.runs import Status, UsageOut

#: As ``agents.choices.BusyPolicy`` has them.
BusyPolicy = Literal["reject", "queue", "interrupt", "steer"]


class ConversationOut(View):
    """A thread."""

    id: Id = Field(validation_alias="pk")
    agent: str
    title: str
    busy_policy: BusyPolicy
    created_at: Time


class ConversationRowOut(ConversationOut):
    """A conversation in a list."""

    heading: str = Field(description="Title, or else the beginning of the first message.")
    active_at: Time = Field(
        description="Time of the last message; of the creation, if there is none."
    )
    status: Status | None = Field(
        validation_alias="last_status",
        description="Status of the last message's run; null: no message yet.",
    )
    waits_for_person: bool = Field(description="A call or question of its runs waits for a person.")


class ConversationPageOut(Page):
    """Conversations, the one last used first."""

    conversations: list[ConversationRowOut]


class ChildRunOut(View):
    """A sub-agent's run."""

    id: Id = Field(validation_alias="pk")
    agent: str
    task: str = Field(description="Beginning of the task.")
    status: Status


class TextStepOut(View):
    """Text of the agent on the way to its answer."""

    kind: Literal["text"]
    text: str
    html: str = Field(description="The Markdown as sanitised HTML.")


class CallStepOut(View):
    """A tool call; of long arguments and results only the beginning is here, the run has all."""

    kind: Literal["call"]
    call_id: str
    tool: str
    arguments: str = Field(description="JSON as the model wrote it.")
    status: str = Field(description="pending, waiting, ok, error, timeout, invalid ...")
    result: str | None
    duration_ms: int | None
    children: list[ChildRunOut] = Field(description="The sub-agents it waits for.")


class SteerStepOut(View):
    """A person's message to the running agent."""

    kind: Literal["steer"]
    text: str
    by: str
    at: Time


StepOut = Annotated[TextStepOut | CallStepOut | SteerStepOut, Field(discriminator="kind")]


class MessageOut(View):
    """A message and what answers it: one run."""

    run_id: Id = Field(validation_alias="pk")
    status: Status
    waits_for_previous: bool = Field(
        validation_alias="held", description="True until the run before it has ended."
    )
    text: str = Field(validation_alias="task", description="Text of the message.")
    started_by: str = Field(description="Name of the author; empty: not recorded.")
    created_at: Time
    finished_at: Time | None
    steps: list[StepOut] = Field(description="Steps before the answer, in order.")
    answer: str | None = Field(
        validation_alias="output",
        description="Null: none yet; of a run that failed what there was.",
    )
    html: str = Field(description="The answer's Markdown as sanitised HTML.")
    structured: JsonValue = Field(description="The answer as the agent's response schema wants it.")
    error: dict[str, Any] | None
    model: str
    usage: UsageOut = Field(description="With its sub-agents.")
    cost_usd: Money | None = Field(description="With its sub-agents; null: a price is unknown.")


class ThreadOut(ConversationRowOut):
    """A conversation with its last messages, the oldest first."""

    messages: list[MessageOut]
    before: Id | None = Field(
        description="For `before`: the messages before these; null: there are none."
    )


class PostedOut(View):
    """Outcome of a posted message."""

    run_id: Id
    outcome: Literal["started", "queued", "steered"] = Field(
        description="started: now; queued: after the run before it; steered: sent to that run."
    )


class ConversationIn(Body):
    """A thread with an agent."""

    agent: Name = Field("orchestrator", description="Agent that answers.")
    title: Word = Field(
        "", description="Empty: it is called by the beginning of its first message."
    )
    busy_policy: BusyPolicy = Field(
        "queue", description="Handling of a message while the last one is still running."
    )


@changes("agent")
class ConversationChangeIn(ConversationIn):
    """Settings to change; a setting that is left out stays."""

    @model_validator(mode="after")
    def _changes(self) -> ConversationChangeIn:
        if not self.model_dump(exclude_none=True):
            raise ValueError("name what is to change: title or busy_policy")
        return self


class MessageIn(Body):
    """A message on a conversation."""

    text: Text
    model: Reference = Field("", description="For the run that answers, and its sub-agents.")
    busy_policy: BusyPolicy | None = Field(
        None, description="For this message; null: as the conversation says."
    )
    require_approval: bool = Field(default=False, description="Every tool call waits for a person.")


CREATE_CONVERSATION = Operation(
    "conversations.create_conversation", "POST /conversations", ConversationOut,
    "Create a conversation", WRITE_RUNS, body=ConversationIn, status=201,
)  # fmt: skip
LIST_CONVERSATIONS = Operation(
    "conversations.list_conversations", "GET /conversations", ConversationPageOut,
    "List conversations", READ_RUNS,
)  # fmt: skip
SHOW_CONVERSATION = Operation(
    "conversations.show_conversation", "GET /conversations/{conversation_id}", ThreadOut,
    "Get a conversation", READ_RUNS,
)  # fmt: skip
CHANGE_CONVERSATION = Operation(
    "conversations.change_conversation", "PATCH /conversations/{conversation_id}",
    ConversationOut, "Change a conversation", WRITE_RUNS, body=ConversationChangeIn,
)  # fmt: skip
DELETE_CONVERSATION: Operation[None] = Operation(
    "conversations.delete_conversation", "DELETE /conversations/{conversation_id}", None,
    "Delete a conversation", WRITE_RUNS, status=204, errors=(409,),
)  # fmt: skip
POST_MESSAGE = Operation(
    "conversations.post_message", "POST /conversations/{conversation_id}/messages", PostedOut,
    "Post a message", WRITE_RUNS, body=MessageIn, status=201, errors=(409,),
)  # fmt: skip
