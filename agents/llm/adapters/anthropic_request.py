"""Conversion of a ``ChatRequest`` to the body of a Messages request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.llm.adapters.anthropic_layout import assistant_blocks
from agents.llm.adapters.openai_request import ASK_FOR_A_CALL
from agents.llm.adapters.wire_names import wire_id
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Message,
    ToolMessage,
    UserMessage,
    is_empty_answer,
    parts_of,
    without_images,
)
from agents.llm.profiles import Profile

if TYPE_CHECKING:
    from agents.llm.adapters.endpoint import Endpoint

_CACHE = {"type": "ephemeral"}
_LEAST_BUDGET = 1024  # the API's minimum
_BUDGETS = {"low": 2048, "medium": 8192, "high": 16384}
_NO_TEXT = "(no text)"  # the API rejects empty text


def request_body(request: ChatRequest, *, endpoint: Endpoint, profile: Profile) -> dict[str, Any]:
    """Return the JSON body; the same request always gives the same bytes (prompt caches)."""
    limit = min(request.max_tokens, profile.max_output_tokens or request.max_tokens)
    forced = bool(request.tools) and request.tool_choice == "required"
    thinking = _thinking(request, profile=profile, forced=forced, max_tokens=limit)
    keep = profile.thinking != "none" and (thinking or {}).get("type") != "disabled"
    if profile.thinking == "budget":
        keep = thinking is not None
    provider = endpoint.provider if keep else ""
    body: dict[str, Any] = {
        "model": endpoint.model,
        "max_tokens": limit,
        "stream": True,
        "messages": _messages(
            request.messages if profile.images else without_images(request.messages),
            provider=provider,
        ),
    }
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHE}]
    if profile.thinking in ("adaptive", "always") and request.reasoning_effort in _BUDGETS:
        body["output_config"] = {"effort": request.reasoning_effort}
    if thinking is not None:
        body["thinking"] = thinking
    elif profile.sampling and request.temperature is not None:
        body["temperature"] = request.temperature
    if request.stop:
        body["stop_sequences"] = list(request.stop)
    if request.tools:
        _add_tools(body, request, profile=profile)
    _cache_last(body["messages"])
    return body


def _thinking(
    request: ChatRequest, *, profile: Profile, forced: bool, max_tokens: int
) -> dict[str, Any] | None:
    """Return the thinking setting of this call; None leaves it to the model.

    A forced call is rejected while thinking is on, so thinking is switched off for that call.
    """
    effort = request.reasoning_effort
    if profile.thinking == "adaptive":
        if effort == "none" or (forced and profile.forced_tool_choice):
            return {"type": "disabled"}
        # The first models with adaptive thinking use it only on request.
        return {"type": "adaptive"} if effort else None
    budget = _budget(request, profile=profile, max_tokens=max_tokens)
    if profile.thinking != "budget" or forced or budget < _LEAST_BUDGET:
        return None
    if _open_turn_without_thinking(request.messages):
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _budget(request: ChatRequest, *, profile: Profile, max_tokens: int) -> int:
    """Return the tokens for thinking; they count towards ``max_tokens``.

    The request's effort overrides the profile and leaves half of the tokens for the answer.
    """
    match request.reasoning_effort:
        case "":
            return min(profile.thinking_budget or 0, max_tokens - 1)
        case "none":
            return 0
        case effort:
            return min(_BUDGETS[effort], max_tokens // 2)


def _open_turn_without_thinking(messages: tuple[Message, ...]) -> bool:
    """Return True if results answer a call that was made without thinking.

    With thinking on, the API requires the thinking that led to such a call; a forced call, or
    another model's call, has none.
    """
    if not messages or not isinstance(messages[-1], ToolMessage):
        return False
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return not message.thinking
    return True


def _add_tools(body: dict[str, Any], request: ChatRequest, *, profile: Profile) -> None:
    tools: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in request.tools
    ]
    tools[-1]["cache_control"] = _CACHE
    body["tools"] = tools
    match request.tool_choice:
        case "none":
            body["tool_choice"] = {"type": "none"}
        case "required" if profile.forced_tool_choice:
            body["tool_choice"] = {"type": "any"}
        case "required":
            _add_user_blocks(body["messages"], [{"type": "text", "text": ASK_FOR_A_CALL}])
        case "auto":
            pass


def _messages(messages: tuple[Message, ...], *, provider: str) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case UserMessage(text, images):
                shown = text if text.strip() else _NO_TEXT
                _add_user_blocks(result, [*map(_image, images), {"type": "text", "text": shown}])
            case AssistantMessage():
                if not is_empty_answer(message):
                    blocks = assistant_blocks(message, provider=provider)
                    result.append({"role": "assistant", "content": blocks})
            case ToolMessage():
                _add_user_blocks(result, [_tool_result(message)])
    return result


def _image(image: str) -> dict[str, Any]:
    media_type, content = parts_of(image)
    source = {"type": "base64", "media_type": media_type, "data": content}
    return {"type": "image", "source": source}


def _tool_result(message: ToolMessage) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": wire_id(message.call_id),
        "content": _shown(message),
    }
    if message.is_error:
        block["is_error"] = True
    return block


def _shown(message: ToolMessage) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.content
    text = message.content if message.content.strip() else _NO_TEXT
    return [{"type": "text", "text": text}, *map(_image, message.images)]


def _add_user_blocks(messages: list[dict[str, Any]], blocks: list[dict[str, Any]]) -> None:
    """Add to the last user message: all results of a turn must be in one message, before text."""
    if messages and messages[-1]["role"] == "user":
        messages[-1]["content"].extend(blocks)
    else:
        messages.append({"role": "user", "content": blocks})


def _cache_last(messages: list[dict[str, Any]]) -> None:
    """Mark the conversation's end, so that the next turn reads all of it from the cache."""
    if messages and messages[-1]["content"][-1]["type"] in ("text", "tool_use", "tool_result"):
        messages[-1]["content"][-1]["cache_control"] = _CACHE
