"""What requests about messages between agents hold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from agents.messaging.keeping import MOST_CHARACTERS, MOST_OF_A_THREAD, MOST_OF_AN_ENTRY
from heartbit_site.api.inputs import Body
from heartbit_site.contract.model import Text, Word  # noqa: TC001


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("say something")
    return text


class SendIn(Body):
    """A message to agents: to inboxes, as a task, or as the answer to another message."""

    text: Annotated[
        Text, Field(min_length=1, max_length=MOST_CHARACTERS), AfterValidator(_said)
    ] = Field(description=f"In an inbox it takes at most {MOST_OF_AN_ENTRY:,} bytes, as JSON.")
    to: Word = Field("", description="An agent's name, or broadcast: every agent's inbox.")
    kind: Literal["notification", "task"] = Field(
        "notification", description="task: a run of the agent begins with it."
    )
    thread: Annotated[Word, Field(max_length=MOST_OF_A_THREAD)] = Field(
        "", description="What it is about: messages of one thread are in an order."
    )
    reply_to: Word = Field("", description="A message to answer, instead of `to`.")

    @model_validator(mode="after")
    def _fits(self) -> SendIn:
        if bool(self.to) == bool(self.reply_to):
            raise ValueError("name either `to` or `reply_to`")
        if self.reply_to and (self.thread or self.kind == "task"):
            raise ValueError("a reply is on its message's thread, and no task: leave both out")
        if self.thread and self.kind == "task":
            raise ValueError("a task begins a thread of its own: leave the thread out")
        return self
