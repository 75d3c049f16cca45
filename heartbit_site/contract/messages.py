"""Messages between agents, people and programs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from agents.messaging.limits import MOST_CHARACTERS, MOST_OF_A_THREAD, MOST_OF_AN_ENTRY
from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Body, Page, Text, Word
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Noun

Kind = Literal["notification", "reply", "request", "task"]


class AgentMessageSummaryOut(View):
    """A message in a list; `GET /messages/{message_id}` returns its whole text."""

    id: Id = Field(validation_alias="pk")
    sender: str = Field(description="agent:NAME or person:NAME.")
    to: str = Field(
        validation_alias="recipient",
        description="agent:NAME, broadcast or, for answers, person:NAME.",
    )
    kind: Kind
    thread: str
    number: int = Field(validation_alias="seq", description="Position on the thread, from 1.")
    text: str = Field(
        validation_alias="body",
        description="The text; a longer one is cut to 500 characters, ending with ….",
    )
    text_characters: int = Field(
        validation_alias="body_characters", description="Length of the whole text."
    )
    in_reply_to: Id | None
    sender_run_id: Id | None = Field(
        validation_alias="source_run_id",
        description="Run that sent the message; null for a person or program.",
    )
    run_id: Id | None = Field(
        description="Run that the message started: its result is the answer.",
    )
    hops: int = Field(description="Number of messages in a row that led to it.")
    expires_at: Time | None = Field(
        description="Time at which the sender stops waiting for the answer."
    )
    inboxes: int = Field(description="Number of agents' inboxes that received it.")
    unread: int = Field(description="Number of these inboxes in which it is unread.")
    created_at: Time


class AgentMessageOut(AgentMessageSummaryOut):
    """A message."""

    text: str = Field(validation_alias="body")


class AgentMessagesOut(Page):
    """Messages, the newest first."""

    messages: list[AgentMessageSummaryOut]


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("say something")
    return text


class SendIn(Body):
    """A message to agents: to inboxes, as a task, or as a reply to another message."""

    text: Annotated[
        Text, Field(min_length=1, max_length=MOST_CHARACTERS), AfterValidator(_said)
    ] = Field(
        description=f"The text. In an inbox it may take up to {MOST_OF_AN_ENTRY:,} bytes, as JSON."
    )
    to: Word = Field("", description="An agent's name, or `broadcast` for every agent's inbox.")
    kind: Literal["notification", "task"] = Field(
        "notification", description="task: it starts a run of the agent."
    )
    thread: Annotated[Word, Field(max_length=MOST_OF_A_THREAD)] = Field(
        "", description="Subject; messages of one thread are ordered."
    )
    reply_to: Word = Field("", description="Message to reply to, instead of `to`.")

    @model_validator(mode="after")
    def _fits(self) -> SendIn:
        if bool(self.to) == bool(self.reply_to):
            raise ValueError("give either `to` or `reply_to`")
        if self.reply_to and (self.thread or self.kind == "task"):
            raise ValueError(
                "a reply uses its message's thread and cannot be a task: leave both out"
            )
        if self.thread and self.kind == "task":
            raise ValueError("a task starts its own thread: leave the thread out")
        return self


NOUN = Noun("messages", read=READ_RUNS, write=WRITE_RUNS)

LIST_MESSAGES = NOUN.get(
    "list_messages", "/messages", AgentMessagesOut, command="`heartbit inbox AGENT --json`"
)
SHOW_MESSAGE = NOUN.get("show_message", "/messages/{message_id}", AgentMessageOut)
SEND_MESSAGE = NOUN.post(
    "send_message", "/messages", AgentMessageOut, "Send a message to agents", body=SendIn,
    status=201, errors=(409,),
)  # fmt: skip
