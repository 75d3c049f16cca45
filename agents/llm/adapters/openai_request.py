"""Conversion of a ``ChatRequest`` to the body of a Chat Completions request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents.llm.adapters.shapes import as_dict
from agents.llm.adapters.think_tags import THINK_TAGS, with_think_tags
from agents.llm.adapters.wire_names import wire_arguments_text, wire_id, wire_name
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Message,
    ToolDefinition,
    ToolMessage,
    UserMessage,
    is_empty_answer,
    without_images,
)
from agents.llm.profiles import Profile

if TYPE_CHECKING:
    from agents.llm.adapters.endpoint import Endpoint

ASK_FOR_A_CALL = "Answer by calling one of the tools."


def request_body(request: ChatRequest, *, endpoint: Endpoint, profile: Profile) -> dict[str, Any]:
    """Return the JSON body; the same request always gives the same bytes (prompt caches)."""
    if not profile.images:
        request = replace(request, messages=without_images(request.messages))
    limit = min(request.max_tokens, profile.max_output_tokens or request.max_tokens)
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": _messages(request, provider=endpoint.provider),
        "stream": True,
        profile.max_tokens_field: limit,
    }
    if profile.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if profile.sampling and request.temperature is not None:
        body["temperature"] = request.temperature
    if profile.sampling and request.stop:
        body["stop"] = list(request.stop)
    if request.reasoning_effort in profile.reasoning_efforts:
        body["reasoning_effort"] = request.reasoning_effort
    if request.tools:
        _add_tools(body, request, profile=profile)
    return body


def _add_tools(body: dict[str, Any], request: ChatRequest, *, profile: Profile) -> None:
    body["tools"] = [_tool(tool) for tool in request.tools]
    if request.tool_choice == "required" and not profile.forced_tool_choice:
        body["messages"].append({"role": "user", "content": ASK_FOR_A_CALL})
    elif request.tool_choice != "auto":
        body["tool_choice"] = request.tool_choice
    if profile.tools_reasoning_effort is not None:
        body["reasoning_effort"] = profile.tools_reasoning_effort


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    }


def _messages(request: ChatRequest, *, provider: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    returned: list[str] = []  # images of results, which are text alone in this dialect
    for message in request.messages:
        if returned and not isinstance(message, ToolMessage):
            messages.append(_returned(returned))
            returned = []
        if not is_empty_answer(message):
            messages.append(_message(message, provider=provider))
        if isinstance(message, ToolMessage):
            returned += message.images
    if returned:
        messages.append(_returned(returned))
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    return messages


def _message(message: Message, *, provider: str) -> dict[str, Any]:
    match message:
        case UserMessage(text, images):
            return {"role": "user", "content": _with_images(text, images) if images else text}
        case AssistantMessage():
            return _assistant(message, provider=provider)
        case ToolMessage(call_id, _, content, is_error):
            # The dialect has no flag for a failed tool, so the text is marked.
            if is_error and not content.lower().startswith("error"):
                content = f"Error: {content}"
            return {"role": "tool", "tool_call_id": wire_id(call_id), "content": content}


def _returned(images: list[str]) -> dict[str, Any]:
    text = "The images that the tools returned, in the order of their results:"
    return {"role": "user", "content": _with_images(text, tuple(images))}


def _with_images(text: str, images: tuple[str, ...]) -> list[dict[str, Any]]:
    shown = [{"type": "image_url", "image_url": {"url": image}} for image in images]
    return [{"type": "text", "text": text}, *shown]


def _assistant(message: AssistantMessage, *, provider: str) -> dict[str, Any]:
    result: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if not message.tool_calls:
        result["content"] = message.text
        return result
    result["tool_calls"] = [
        {
            "id": wire_id(call.id),
            "type": "function",
            "function": {
                "name": wire_name(call.name),
                "arguments": wire_arguments_text(call.arguments),
            },
        }
        for call in message.tool_calls
    ]
    _add_thinking(result, message, provider=provider)
    return result


def _add_thinking(result: dict[str, Any], message: AssistantMessage, *, provider: str) -> None:
    """Add reasoning of this provider; only messages with calls need it."""
    for thinking in message.thinking:
        if thinking.provider != provider:
            continue
        match thinking.block:
            case {"type": "message_field", "field": str(name), "value": value}:
                result[name] = value
            case {"type": kind, "thinking": str(thoughts)} if kind == THINK_TAGS:
                result["content"] = with_think_tags(thoughts, message.text)
            case {"type": "call_field", "index": int(index), "value": value}:
                if 0 <= index < len(result["tool_calls"]):
                    result["tool_calls"][index]["extra_content"] = as_dict(value)
