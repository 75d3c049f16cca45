"""Conversion of a ``ChatRequest`` for pydantic-ai."""

from __future__ import annotations

import base64
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition as BridgedTool

from agents.llm.adapters.openai_request import ASK_FOR_A_CALL
from agents.llm.adapters.shapes import as_dict
from agents.llm.adapters.wire_names import wire_arguments_text, wire_id, wire_name
from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    ToolMessage,
    UserMessage,
    is_empty_answer,
    parts_of,
)
from agents.llm.profiles import Profile


def bridged_request(
    request: ChatRequest, *, model: Model[Any], profile: Profile, provider: str
) -> dict[str, Any]:
    """Return the arguments of ``model_request_stream``.

    The same request always gives the same bytes (prompt caches).
    """
    forced = profile.forced_tool_choice and _can_force(model)
    messages = _messages(request, provider=provider)
    if request.tools and request.tool_choice == "required" and not forced:
        messages.append(
            ModelRequest([UserPromptPart(ASK_FOR_A_CALL)], instructions=request.system or None)
        )
    tools = [
        # strict=False: the schema is sent unchanged, not rewritten to a provider's strict form.
        BridgedTool(
            name=tool.name,
            parameters_json_schema=tool.parameters,
            description=tool.description,
            strict=False,
        )
        for tool in request.tools
    ]
    return {
        "messages": messages,
        "model_settings": _settings(request, model=model, profile=profile, forced=forced),
        "model_request_parameters": ModelRequestParameters(function_tools=tools),
    }


def _can_force(model: Model[Any]) -> bool:
    """Return True if ``tool_choice="required"`` may be sent; some thinking models reject it."""
    known = model.profile
    thinks = known.get("thinking_always_enabled") or known.get("thinking_enabled_by_default")
    with_thinking = known.get("supports_forced_tool_choice_with_thinking", True) or not thinks
    return bool(known.get("supports_forced_tool_choice", True) and with_thinking)


def _settings(
    request: ChatRequest, *, model: Model[Any], profile: Profile, forced: bool
) -> ModelSettings:
    settings: ModelSettings = {
        "max_tokens": min(request.max_tokens, profile.max_output_tokens or request.max_tokens),
        "timeout": request.timeout_seconds,
        "max_retries": 0,  # a wrapper on the model retries, with the run's policy
    }
    if profile.sampling and request.temperature is not None:
        settings["temperature"] = request.temperature
    if profile.sampling and request.stop:
        settings["stop_sequences"] = list(request.stop)
    if request.tools:
        settings["parallel_tool_calls"] = True
        if request.tool_choice == "none" or (request.tool_choice == "required" and forced):
            settings["tool_choice"] = request.tool_choice
    # pydantic-ai would warn about settings that the provider ignores.
    for name in model.unsupported_settings & settings.keys():
        settings.pop(name)
    return settings


def _messages(request: ChatRequest, *, provider: str) -> list[ModelMessage]:
    """Translate the conversation; messages between two answers become one request."""
    messages: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    instructions = request.system or None
    for message in request.messages:
        match message:
            case UserMessage(text, images):
                parts.append(UserPromptPart([text, *map(_image, images)] if images else text))
            case ToolMessage(call_id, name, content, is_error, images):
                outcome: Any = "failed" if is_error else "success"
                shown: Any = [content, *map(_image, images)] if images else content
                parts.append(
                    ToolReturnPart(wire_name(name), shown, wire_id(call_id), outcome=outcome)
                )
            case AssistantMessage():
                if is_empty_answer(message):
                    continue
                if parts:
                    messages.append(ModelRequest(parts, instructions=instructions))
                    parts = []
                messages.append(_response(message, provider=provider))
    if parts:
        messages.append(ModelRequest(parts, instructions=instructions))
    return messages


def _image(image: str) -> BinaryContent:
    media_type, content = parts_of(image)
    return BinaryContent(base64.b64decode(content), media_type=media_type)


def _response(message: AssistantMessage, *, provider: str) -> ModelResponse:
    """Translate an answer; reasoning is sent only to the provider that wrote it."""
    own = [
        as_dict(thinking.block) for thinking in message.thinking if thinking.provider == provider
    ]
    parts: list[ModelResponsePart] = [
        ThinkingPart(
            str(block.get("content", "")), **_origin(block), signature=block.get("signature")
        )
        for block in own
        if block.get("type") == "thinking"
    ]
    origins = {block.get("index"): _origin(block) for block in own if block.get("type") == "call"}
    if message.text.strip():
        parts.append(TextPart(message.text))
    parts += [
        ToolCallPart(
            wire_name(call.name),
            wire_arguments_text(call.arguments),
            wire_id(call.id),
            **origins.get(index, {}),
        )
        for index, call in enumerate(message.tool_calls)
    ]
    return ModelResponse(parts, provider_name=provider if own else None)


def _origin(block: dict[str, Any]) -> dict[str, Any]:
    """Return the fields by which pydantic-ai recognises a part as the provider's own."""
    return {name: block.get(name) for name in ("id", "provider_name", "provider_details")}
