"""The typed conversation that every model adapter translates to and from its wire format.

Values are frozen and carry no provider types. ``agents.journal.events`` journals them as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FinishReason = Literal["stop", "tool_calls", "length", "refused", "other"]
ToolChoice = Literal["auto", "required", "none"]
ReasoningEffort = Literal["", "none", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model asked for.

    Attributes:
        id: The provider's id, echoed back with the result. Heartbit's own id is ``turn.index``.
        name: The tool's name as the model wrote it (it may be a near miss).
        arguments: The arguments as JSON *text*, exactly as received; it may be malformed.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A reasoning block; it goes back unchanged to the provider that wrote it, never to another."""

    provider: str
    block: dict[str, Any]


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user, or the run's task, says."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model answered: text, tool calls, or both."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: tuple[Thinking, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call; ``call_id`` is the provider's id of that call."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


Message = UserMessage | AssistantMessage | ToolMessage


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
    adapter adds them); ``raw`` keeps what the provider said, and under ``model`` the exact name of
    the model that it says answered.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    raw: dict[str, Any] = field(default_factory=dict)


async def _at_once() -> None:
    """Hold up no request."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One model call.

    Attributes:
        system: The system prompt, or an empty string.
        messages: The conversation, oldest first; never an orphan call or result.
        tools: The tools offered, in a stable order (prompt caches depend on it).
        tool_choice: ``auto``, ``required`` (some tool), ``none``, see ``ToolChoice``.
        max_tokens: The limit on the answer; always sent.
        temperature: Sampling temperature, or None for the provider's default.
        stop: Sequences that end the answer.
        timeout_seconds: Limit on the whole call, over all attempts and waits of wrappers.
        examples: Worked examples, put before the conversation for models that must be shown how a
            tool is called (``Profile.tools == "constrained_json"``); others never see them.
        reasoning_effort: How long the model shall think: ``none`` not at all, empty as it likes.
            Sent where the model's profile allows it and left out where it does not.
        attempts: Attempts at this very call that were made before, in an earlier slice of its run:
            wrappers that try again count them.
        ready: Is awaited last of all, just before the request goes out. Whoever is asked to wait
            there may have lost the right to ask: wrappers wait for limits and budgets before.
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
        """The same request, with tools on offer."""
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
    """A piece of a tool call's arguments, for live views only; it is complete only at the end."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """What was streamed of this answer is void; it begins anew after the delay.

    Only wrappers that try again say this, also before anything was streamed.

    Attributes:
        reason: Why, as a sentence for a person.
        delay_seconds: How long nothing will come because of it.
    """

    reason: str
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Completion:
    """The last event of every successful stream: the whole answer and what it used.

    ``model`` is the ``provider:model`` of the endpoint that answered.
    """

    message: AssistantMessage
    usage: Usage
    finish_reason: FinishReason
    model: str


StreamEvent = TextDelta | ThinkingDelta | ToolCallDelta | Restarted | Completion
