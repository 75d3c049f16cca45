"""Interface between the agent loop and language models.

Usage::

    model = factory.create("anthropic:claude-sonnet-4-5")
    async for event in model.stream(ChatRequest(system="", messages=(UserMessage("Hello"),))):
        match event:
            case TextDelta(text):
                show(text)
            case Restarted():
                clear()
            case Completion(message, usage):
                journal(message, usage)

Cross-cutting behaviour (retry, limits, fallback) is a wrapper that implements the same protocol,
see ``agents.llm.wrappers``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agents.llm.messages import ChatRequest, StreamEvent


class ChatModel(Protocol):
    """A language model behind one wire format.

    Implementations are cheap to create and share the process's HTTP client. Cancelling the
    consuming task closes the connection at once.
    """

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        ...

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Yield deltas and, last, exactly one ``Completion``; wrappers may add ``Restarted``.

        Raises:
            ModelError: One of the tree in ``agents.llm.errors``; a stream that ends without the
                reason for its end raises ``StreamTruncatedError`` and never yields a
                ``Completion``.
        """
        ...
