"""What requests hold."""

from __future__ import annotations

from typing import Annotated

from ninja import Schema
from pydantic import ConfigDict, Field, JsonValue, model_validator

from agents.actions.create_default_team import ORCHESTRATOR
from agents.choices import SecondMessage
from heartbit_site.contract.model import Name, Priority, Reference, Targets, Text, Word  # noqa: TC001


class Body(Schema):
    """A JSON object: no field but its own, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RunIn(Body):
    """A task for an agent, as text, in its long form, or both."""

    task: Text = Field("", description="What the agent should do.")
    payload: dict[str, JsonValue] | None = Field(
        None, description="The long form: {action, spec, inputs, constraints}."
    )
    agent: Name = Field("", description=f"Who does it; {ORCHESTRATOR} if empty.")
    model: Reference = Field("", description="For this run and its sub-agents.")
    priority: Priority = 0
    conversation_id: Word | None = Field(
        None, description="Answer on this thread; its agent does it, so name no other."
    )
    approve: bool = Field(default=False, description="Every tool call waits for a person.")
    deliver: Targets = Field(default_factory=list)

    @model_validator(mode="after")
    def _thread(self) -> RunIn:
        if self.conversation_id is not None and (self.agent or self.payload or self.priority):
            raise ValueError(
                "a message on a conversation takes no agent, payload or priority: leave them out"
            )
        return self


class SteerIn(Body):
    """Something that the run should know from its next model call on."""

    text: Text


class ConversationIn(Body):
    """A thread with an agent."""

    agent: Name = Field(ORCHESTRATOR, description="Who answers.")
    title: Word = ""
    second_message: Annotated[SecondMessage, Field(strict=False)] = Field(
        SecondMessage.QUEUE,
        description="What becomes of a message while the last one is still worked on.",
    )


class MessageIn(Body):
    """A message on a conversation."""

    text: Text
    model: Reference = Field("", description="For the run that answers, and its sub-agents.")
    second_message: Annotated[SecondMessage, Field(strict=False)] | None = Field(
        None, description="For this message; null: as the conversation says."
    )
    approve: bool = Field(default=False, description="Every tool call waits for a person.")
