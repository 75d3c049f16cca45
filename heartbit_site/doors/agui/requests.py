"""Requests of AG-UI (``RunAgentInput``), as far as an agent has a use for them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from heartbit_site.doors.client_tools import ClientTool
from heartbit_site.doors.requests import ChatMessage, RequestPart, results_at_end

#: Roles of messages that only a front end reads.
_SHOWN_ALONE = ("activity", "reasoning")
Name = Annotated[str, Field(min_length=1, max_length=200)]


class PageContext(RequestPart):
    """Information for the agent, beside the messages."""

    description: str = ""
    value: str = ""


class Resume(RequestPart):
    """Answer to an interrupt."""

    interrupt_id: Annotated[str, Field(alias="interruptId", max_length=1_000)]
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class AgentInput(RequestPart):
    """Body of ``POST /agui/NAME``."""

    thread_id: Name = Field(alias="threadId")
    run_id: Name = Field(alias="runId")
    messages: Annotated[list[ChatMessage], Field(max_length=2_000)]
    tools: Annotated[list[ClientTool], Field(max_length=128)] | None = None
    context: Annotated[list[PageContext], Field(max_length=128)] | None = None
    resume: Annotated[list[Resume], Field(max_length=128)] | None = None
    state: Any = None

    @field_validator("messages", mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        """Leave out messages that no agent reads, whose content has other forms."""
        if not isinstance(given, list):
            return given
        return [
            one for one in given if not (isinstance(one, dict) and one.get("role") in _SHOWN_ALONE)
        ]

    @property
    def results(self) -> dict[str, str]:
        """Results that end the messages, by the ids of their calls."""
        return results_at_end(self.messages)

    @property
    def preface(self) -> str:
        """The context as text, which precedes the task."""
        return "\n".join(f"{one.description}: {one.value}" for one in self.context or ())
