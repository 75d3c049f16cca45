"""Capabilities of models, as data that adapters read; nothing else depends on a model's name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from agents.llm.messages import ReasoningEffort


@dataclass(frozen=True, slots=True, kw_only=True)
class Constrained:
    """Rules for a model without native tool calls (see ``Profile.tools``).

    The defaults suit a small but capable model (a few billion parameters): it chooses freely among
    the tools and an answer. A tiny model cannot choose: given the choice it calls the same tool
    until the step limit. For tiny models the first three fields decide, deterministically:

    1. In an exchange a tool of ``first_tools`` that is offered and not yet called must be called.
    2. With ``tools_once`` a tool that has been called in the exchange is not offered again.
    3. Without ``free_choice`` the model does not choose between the remaining tools and an answer:
       with ``tool_choice="auto"`` it answers.

    ``tool_choice="required"`` always offers a tool, ``"none"`` never does. An exchange is the part
    after the last answer without calls, so a steering message in the middle does not begin one.

    Attributes:
        first_tools: Names of tools that must be called first.
        tools_once: Offer each tool at most once an exchange.
        free_choice: Let the model choose between the tools and an answer.
        show_schemas: Put each tool's JSON Schema into the prompt; it only confuses a tiny model.
        string_limit: Longest string, in characters, where the tool's schema sets no limit; without
            one a small model does not stop and its JSON is truncated.
        items_limit: Longest array, in items, where the tool's schema sets no limit.
        answer_limit: Longest answer, in characters, while tools are offered.
        text_tokens: Upper limit of ``ChatRequest.max_tokens`` for answers in plain text.
        notes_hint: Instruction after the results, for an answer in plain text.
        temperature: Sampling temperature if the request sets none.
        json_repeat_penalty: llama.cpp's ``repeat_penalty`` for JSON; 1.0, because JSON is
            repetitive.
        text_repeat_penalty: llama.cpp's ``repeat_penalty`` for plain text.
    """

    first_tools: tuple[str, ...] = ()
    tools_once: bool = False
    free_choice: bool = True
    show_schemas: bool = True
    string_limit: int = 1000
    items_limit: int = 8
    answer_limit: int = 1900
    text_tokens: int | None = None
    notes_hint: str = "Answer with the help of these notes."
    temperature: float | None = None
    json_repeat_penalty: float | None = None
    text_repeat_penalty: float | None = None


ABLE = Constrained()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Capabilities of one model.

    Attributes:
        tools: Native tool calls, or JSON under a schema.
        forced_tool_choice: True if ``tool_choice="required"`` may be sent; otherwise the prompt
            asks for a call, and the model may still answer in text.
        sampling: True if temperature and stop sequences may be sent.
        thinking: ``none``; ``budget``: on if ``thinking_budget`` is set; ``adaptive``: on by
            default, switched off for a forced call; ``always``: cannot be switched off.
        thinking_budget: Tokens for thinking, for ``budget`` only; None leaves thinking off.
        max_tokens_field: Name of the answer's limit in the dialect.
        reasoning_efforts: Values of ``ChatRequest.reasoning_effort`` that may be sent on Chat
            Completions; others are left out. Messages uses ``thinking`` instead.
        tools_reasoning_effort: Sent with tools, whatever the request has: some OpenAI models accept
            function tools on Chat Completions only without reasoning.
        max_output_tokens: Upper limit of ``ChatRequest.max_tokens``.
        stream_usage: True if the usage of a streamed answer is asked for on Chat Completions.
        any_schema: True if the server accepts every JSON Schema of a tool; otherwise tools are sent
            in the form of ``agents.llm.adapters.plain_tools``.
        images: True if it sees images, or is not known; the provider then decides.
        constrained: Rules for a model without native tool calls.
    """

    tools: Literal["native", "constrained_json"] = "native"
    forced_tool_choice: bool = True
    sampling: bool = True
    thinking: Literal["none", "budget", "adaptive", "always"] = "none"
    thinking_budget: int | None = None
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning_efforts: tuple[ReasoningEffort, ...] = ("none", "low", "medium", "high")
    tools_reasoning_effort: Literal["none"] | None = None
    max_output_tokens: int | None = None
    stream_usage: bool = True
    any_schema: bool = True
    images: bool = True
    constrained: Constrained = ABLE


COMPATIBLE = Profile()

# The model in a wheel (SmolLM2-135M). With these settings, and two example delegations in
# ``ChatRequest.examples``, 30 of 30 teams of three completed.
TINY = Profile(
    tools="constrained_json",
    reasoning_efforts=(),
    max_output_tokens=400,
    images=False,
    constrained=Constrained(
        first_tools=("delegate_task",),
        tools_once=True,
        free_choice=False,
        show_schemas=False,
        string_limit=160,
        items_limit=4,
        answer_limit=600,
        text_tokens=160,
        notes_hint="Write one short paragraph from these notes.",
        temperature=0.0,
        json_repeat_penalty=1.0,
        text_repeat_penalty=1.1,
    ),
)

_CLAUDE_LATEST = Profile(forced_tool_choice=False, sampling=False, thinking="always")
_CLAUDE_ADAPTIVE = Profile(sampling=False, thinking="adaptive")
_CLAUDE_BUDGET = Profile(thinking="budget")
_CLAUDE_PLAIN = Profile()

# The longest matching prefix wins; an unknown name is assumed to be newer than all of these.
_ANTHROPIC: dict[str, Profile] = {
    "": _CLAUDE_LATEST,
    "claude-3": _CLAUDE_PLAIN,
    "claude-3-7": _CLAUDE_BUDGET,
    "claude-haiku-4": _CLAUDE_BUDGET,
    "claude-haiku-5": Profile(sampling=False, thinking="always"),
    "claude-opus-4": _CLAUDE_BUDGET,
    "claude-opus-4-7": _CLAUDE_ADAPTIVE,
    "claude-opus-4-8": _CLAUDE_ADAPTIVE,
    "claude-opus-5": _CLAUDE_ADAPTIVE,
    "claude-opus-5-": _CLAUDE_LATEST,
    "claude-sonnet-4": _CLAUDE_BUDGET,
    "claude-sonnet-5": _CLAUDE_ADAPTIVE,
    "claude-sonnet-5-": _CLAUDE_LATEST,
}

_GPT = Profile(max_tokens_field="max_completion_tokens", reasoning_efforts=())
_GPT_REASONING = replace(_GPT, sampling=False, reasoning_efforts=("low", "medium", "high"))
_GPT_MAY_NOT_REASON = replace(_GPT_REASONING, reasoning_efforts=("none", "low", "medium", "high"))
_GPT_TOOLS_WITHOUT_REASONING = replace(_GPT_MAY_NOT_REASON, tools_reasoning_effort="none")

_OPENAI: dict[str, Profile] = {
    "": _GPT_TOOLS_WITHOUT_REASONING,
    "gpt-3": replace(_GPT, images=False),
    "gpt-4": replace(_GPT, images=False),
    "gpt-4-turbo": _GPT,
    "gpt-4-vision": _GPT,
    "gpt-4.": _GPT,
    "gpt-4o": _GPT,
    "chatgpt": _GPT,
    "o": _GPT_REASONING,
    "o1-mini": replace(_GPT_REASONING, images=False),
    "o3-mini": replace(_GPT_REASONING, images=False),
    "gpt-5": _GPT_REASONING,
    "gpt-5.": _GPT_MAY_NOT_REASON,
    "gpt-5.4": _GPT_TOOLS_WITHOUT_REASONING,
    "gpt-5.5": _GPT_TOOLS_WITHOUT_REASONING,
    "gpt-5.6": _GPT_TOOLS_WITHOUT_REASONING,
    # These two have no "none"; the provider decides whether they accept tools here.
    "gpt-6-astra": _GPT_REASONING,
    "gpt-6.1-sol": _GPT_REASONING,
}


def anthropic_profile(model: str) -> Profile:
    """Return the capabilities of Anthropic's ``model``."""
    return _longest_prefix(_ANTHROPIC, model)


def openai_profile(model: str) -> Profile:
    """Return the capabilities of OpenAI's ``model`` on Chat Completions."""
    return _longest_prefix(_OPENAI, model)


def openrouter_profile(model: str) -> Profile:
    """Return the capabilities of OpenRouter's ``model``, e.g. ``anthropic/claude-sonnet-5.5``."""
    vendor, _, name = model.partition("/")
    if vendor != "anthropic":
        return COMPATIBLE
    forced = anthropic_profile(name.replace(".", "-")).forced_tool_choice
    return replace(COMPATIBLE, forced_tool_choice=forced)


def _longest_prefix(table: dict[str, Profile], model: str) -> Profile:
    return table[max((prefix for prefix in table if model.startswith(prefix)), key=len)]
