"""Conversations: threads with an agent, and their messages."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from heartbit_site.base.view import Id, Money, Time, View
from heartbit_site.contract.model import (
    Body,
    Documents,
    Images,
    Name,
    Page,
    Reference,
    Text,
    Word,
    changes,
)
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Noun
from heartbit_site.contract.runs import Status, UsageOut

#: As ``agents.choices.BusyPolicy`` has them.
BusyPolicy = Literal["reject", "queue", "interrupt", "steer"]


class ConversationOut(View):
    """A thread."""

    id: Id = Field(validation_alias="pk")
    agent: str
    title: str
    busy_policy: BusyPolicy
    private: bool = Field(description="True if its owner alone reads it and its runs.")
    created_at: Time


class ConversationRowOut(ConversationOut):
    """A conversation in a list."""

    heading: str = Field(description="Title, else the beginning of the first message.")
    active_at: Time = Field(description="Time of the last message, else of the creation.")
    status: Status | None = Field(
        validation_alias="last_status",
        description="Status of the last message's run; null: no message yet.",
    )
    waits_for_person: bool = Field(
        description="True if a call or question of its runs waits for a person."
    )


class ConversationPageOut(Page):
    """Conversations, the most recently used first."""

    conversations: list[ConversationRowOut]


class ChildRunOut(View):
    """A sub-agent's run."""

    id: Id = Field(validation_alias="pk")
    agent: str
    task: str = Field(description="Beginning of the task.")
    status: Status


class TextStepOut(View):
    """Text of the agent before its answer."""

    kind: Literal["text"]
    text: str
    html: str = Field(description="The Markdown as sanitised HTML.")


class CallStepOut(View):
    """A tool call; long arguments and results are cut, the run has them whole."""

    kind: Literal["call"]
    call_id: str
    tool: str
    arguments: str = Field(description="JSON as the model wrote it.")
    status: str = Field(description="pending, waiting, ok, error, timeout, invalid ...")
    result: str | None
    duration_ms: int | None
    images: list[str] = Field(description="Pictures that it returned, as artifact:RUN/NAME.")
    children: list[ChildRunOut] = Field(description="The sub-agents it waits for.")


class SteerStepOut(View):
    """A person's message to the running agent."""

    kind: Literal["steer"]
    text: str
    by: str
    at: Time


StepOut = Annotated[TextStepOut | CallStepOut | SteerStepOut, Field(discriminator="kind")]


class MessageOut(View):
    """A message and its answer: one run."""

    run_id: Id = Field(validation_alias="pk")
    status: Status
    waits_for_previous: bool = Field(
        validation_alias="held", description="True while it waits for the previous run to end."
    )
    text: str = Field(validation_alias="task", description="Text of the message.")
    images: list[str] = Field(description="Pictures beside it, each as artifact:RUN/NAME.")
    started_by: str = Field(description="Name of the author; empty: not recorded.")
    created_at: Time
    finished_at: Time | None
    steps: list[StepOut] = Field(description="Steps before the answer, in order.")
    answer: str | None = Field(
        validation_alias="output",
        description="The answer, or the partial text of a failed run; null if there is none yet.",
    )
    html: str = Field(description="The answer's Markdown as sanitised HTML.")
    structured: JsonValue = Field(
        description="The answer in the form of the agent's response schema."
    )
    error: dict[str, Any] | None
    model: str
    usage: UsageOut = Field(description="Tokens, sub-agents included.")
    cost_usd: Money | None = Field(
        description="US dollars, sub-agents included; null if a price is unknown."
    )


class ThreadOut(ConversationRowOut):
    """A conversation with its last messages, the oldest first."""

    messages: list[MessageOut]
    before: Id | None = Field(
        description="Value of `before` for the earlier messages; null if there are none."
    )


class PostedOut(View):
    """Outcome of a posted message."""

    run_id: Id
    outcome: Literal["started", "queued", "steered"] = Field(
        description="started: it runs now; queued: it follows the previous run; steered: it was "
        "sent to that run."
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
    private: bool = Field(
        default=False,
        description="True if only the caller reads it and its runs; who may decide a call of it "
        "sees that call.",
    )


@changes("agent", "private")
class ConversationChangeIn(ConversationIn):
    """Settings to change; a setting that is left out stays."""

    @model_validator(mode="after")
    def _changes(self) -> ConversationChangeIn:
        if not self.model_dump(exclude_none=True):
            raise ValueError("name what is to change: title or busy_policy")
        return self


class MessageIn(Body):
    """A message on a conversation."""

    text: Text = Field("", description="May be empty with images or documents.")
    images: Images = Field(default_factory=list)
    documents: Documents = Field(default_factory=dict)
    model: Reference = Field("", description="For the run that answers, and its sub-agents.")
    busy_policy: BusyPolicy | None = Field(
        None, description="Policy for this message; null: the conversation's."
    )
    require_approval: bool = Field(default=False, description="Every tool call waits for a person.")


NOUN = Noun("conversations", read=READ_RUNS, write=WRITE_RUNS)

CREATE_CONVERSATION = NOUN.post(
    "create_conversation", "/conversations", ConversationOut, body=ConversationIn, status=201
)
LIST_CONVERSATIONS = NOUN.get("list_conversations", "/conversations", ConversationPageOut)
SHOW_CONVERSATION = NOUN.get("show_conversation", "/conversations/{conversation_id}", ThreadOut)
CHANGE_CONVERSATION = NOUN.patch(
    "change_conversation", "/conversations/{conversation_id}", ConversationOut,
    body=ConversationChangeIn,
)  # fmt: skip
DELETE_CONVERSATION = NOUN.delete(
    "delete_conversation", "/conversations/{conversation_id}", errors=(409,)
)
POST_MESSAGE = NOUN.post(
    "post_message", "/conversations/{conversation_id}/messages", PostedOut, body=MessageIn,
    status=201, errors=(409,),
)  # fmt: skip
