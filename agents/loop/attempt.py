"""One attempt at a model call: what had arrived of it, and what that is thought to have cost."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.llm.messages import TextDelta, ThinkingDelta, ToolCallDelta, Usage
from agents.llm.wrappers.estimate import tokens_of

if TYPE_CHECKING:
    from agents.llm.messages import ChatRequest, StreamEvent


@dataclass(slots=True)
class Attempt:
    """Listens to one.

    Attributes:
        request: What was asked.
        turn: Of the run.
        characters: How much of an answer has arrived, thinking included.
        began: When it was asked, on the process's steady clock.
    """

    request: ChatRequest
    turn: int
    characters: int = 0
    began: float = field(default_factory=time.monotonic)

    def count(self, event: StreamEvent) -> None:
        """Count what arrives."""
        match event:
            case TextDelta(text=text) | ThinkingDelta(text=text):
                self.characters += len(text)
            case ToolCallDelta(name=name, arguments=arguments):
                self.characters += len(name) + len(arguments)

    def usage(self) -> Usage:
        """A guess, marked as one: nobody told."""
        said, answered = tokens_of(self.request), tokens_of(self.characters)
        return Usage(said, answered, raw={"estimated": True})

    @property
    def duration_ms(self) -> int:
        """How long it took until now."""
        return round((time.monotonic() - self.began) * 1000)
