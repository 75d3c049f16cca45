"""One attempt at a model call: the text received and its estimated cost."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from agents.llm.messages import (
    ChatRequest,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
)
from agents.llm.wrappers.estimate import tokens_of


@dataclass(slots=True)
class Attempt:
    """Counter of one attempt.

    Attributes:
        characters: Characters of the answer received so far, thinking included.
        began: Start of the attempt, on the process's monotonic clock.
    """

    request: ChatRequest
    turn: int
    characters: int = 0
    began: float = field(default_factory=time.monotonic)

    def count(self, event: StreamEvent) -> None:
        """Count the streamed characters of an event."""
        match event:
            case TextDelta(text=text) | ThinkingDelta(text=text):
                self.characters += len(text)
            case ToolCallDelta(name=name, arguments=arguments):
                self.characters += len(name) + len(arguments)

    def usage(self) -> Usage:
        """Return an estimate, marked as one, because the provider reported no usage."""
        said, answered = tokens_of(self.request), tokens_of(self.characters)
        return Usage(said, answered, raw={"estimated": True})

    @property
    def duration_ms(self) -> int:
        """Milliseconds since the attempt began."""
        return round((time.monotonic() - self.began) * 1000)
