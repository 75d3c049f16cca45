"""Typed conversation that every model adapter translates to and from its wire format.

Values are frozen and carry no provider types. ``agents.journal.events`` journals them as JSON.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

FinishReason = Literal["stop", "tool_calls", "length", "refused", "other"]
ToolChoice = Literal["auto", "required", "none"]
ReasoningEffort = Literal["", "none", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of the model.

    Attributes:
        id: Id that is returned to the model with the result: the provider's, if it is unique in
            the conversation (``agents.loop.call_ids``). Heartbit's own id is ``turn.index``.
        name: Name of the tool as the model wrote it (possibly a near miss).
        arguments: Arguments as JSON *text*, exactly as received; possibly malformed.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A reasoning block; it is sent back unchanged, and only to the provider that wrote it."""

    provider: str
    block: dict[str, Any]


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A user's message, or the run's task.

    Attributes:
        text: The text.
        images: Images beside it, as data URLs (``data:image/png;base64,...``), or as addresses of
            stored ones (``agents.llm.wrappers.pictured``), which no adapter sees.
    """

    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A model's answer: text, tool calls, or both."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: tuple[Thinking, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call.

    Attributes:
        call_id: The provider's id of the call.
        images: Images that the tool returned, as in ``UserMessage``.
    """

    call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[str, ...] = ()


#: In place of an image, for models that read text alone.
UNSEEN = "\n[an image, which you cannot see]"

Message = UserMessage | AssistantMessage | ToolMessage


def parts_of(image: str) -> tuple[str, str]:
    """Return the media type and the content, in base64, of an image (``UserMessage.images``)."""
    head, _, content = image.partition(",")
    return head.removeprefix("data:").removesuffix(";base64"), content


def without_images(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages for a model that reads text alone: each image is a remark in the text."""
    return tuple(
        one
        if isinstance(one, AssistantMessage) or not one.images
        else replace(one, text=one.text + UNSEEN * len(one.images), images=())
        if isinstance(one, UserMessage)
        else replace(one, content=one.content + UNSEEN * len(one.images), images=())
        for one in messages
    )


def is_empty_answer(message: Message) -> bool:
    """Return True for an answer without text and tool calls, which servers reject in a request."""
    return (
        isinstance(message, AssistantMessage)
        and not message.tool_calls
        and not message.text.strip()
    )


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the model sees it; ``parameters`` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, normalised.

    ``input_tokens`` includes cached ones on every provider (Anthropic's own figure does not, so its
    adapter adds them); ``raw`` keeps the provider's figures and, under ``model``, the exact name of
    the model that answered.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    raw: dict[str, Any] = field(default_factory=dict)


async def _at_once() -> None:
    """Return at once."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One model call.

    Attributes:
        system: System prompt, or an empty string.
        messages: Conversation, oldest first; every call has its result.
        tools: Tools offered, in a stable order (prompt caches depend on it).
        tool_choice: ``auto``, ``required`` (some tool) or ``none``.
        max_tokens: Limit of the answer; always sent.
        temperature: Sampling temperature; None: the provider's default.
        timeout_seconds: Limit of the whole call, over all attempts and waits of wrappers.
        examples: Example calls, put before the conversation for models that need examples
            (``Profile.tools == "constrained_json"``); others do not get them.
        reasoning_effort: Amount of thinking: ``none`` for no thinking, empty for the model's
            default. Sent only if the model's profile allows it.
        attempts: Attempts at this call in earlier slices of its run, which retry wrappers count.
        ready: Awaited right before the request is sent, because the caller may have lost its lease
            while wrappers waited for limits and budgets.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int = 4096
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    timeout_seconds: float = 600.0
    examples: tuple[Message, ...] = ()
    reasoning_effort: ReasoningEffort = ""
    attempts: int = 0
    ready: Callable[[], Awaitable[None]] = field(default=_at_once, compare=False, repr=False)

    def with_tools(
        self,
        tools: tuple[ToolDefinition, ...],
        *,
        choice: ToolChoice = "auto",
        examples: tuple[Message, ...] = (),
    ) -> ChatRequest:
        """Return the request with these tools offered."""
        return replace(self, tools=tools, tool_choice=choice, examples=examples)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, as it streams."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's reasoning, as it streams."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call's arguments, for live views only; complete only at the end."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The text streamed so far is discarded; the answer restarts after the delay.

    Only retrying wrappers yield this, also before any text.

    Attributes:
        reason: Reason, as a sentence for a person.
        delay_seconds: Seconds until the restart.
    """

    reason: str
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Completion:
    """Last event of every successful stream: the whole answer and its usage.

    ``model`` is the ``provider:model`` of the endpoint that answered.
    """

    message: AssistantMessage
    usage: Usage
    finish_reason: FinishReason
    model: str


StreamEvent = TextDelta | ThinkingDelta | ToolCallDelta | Restarted | Completion
