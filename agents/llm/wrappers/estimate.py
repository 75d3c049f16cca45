"""Estimate of a request's tokens before it is sent."""

from __future__ import annotations

import json

from agents.llm.messages import AssistantMessage, ChatRequest, Message, ToolMessage, UserMessage

_CHARACTERS_PER_TOKEN = 4
_CHARACTERS_PER_IMAGE = 6_000


def estimate_tokens(request: ChatRequest) -> int:
    """Return an estimate of the tokens of ``request`` and its answer.

    It counts a token for every four characters of prompt, tools and conversation, and
    ``max_tokens`` for the answer. Four is right within a quarter or so for English prose; other
    scripts and code cost more. The real figure replaces the estimate after the answer. Thinking is
    not counted, because few providers accept it back.
    """
    return tokens_of(request) + request.max_tokens


def tokens_of(said: ChatRequest | int) -> int:
    """Return an estimate of the tokens of a request without its answer, or of characters."""
    characters = said if isinstance(said, int) else _characters(said)
    return -(-characters // _CHARACTERS_PER_TOKEN)


def _characters(request: ChatRequest) -> int:
    characters = len(request.system) + sum(map(_length, request.messages))
    for tool in request.tools:
        characters += len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters))
    return characters


def _length(message: Message) -> int:
    match message:
        case UserMessage(text, images):
            return len(text) + _CHARACTERS_PER_IMAGE * len(images)
        case AssistantMessage(text, calls):
            return len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
        case ToolMessage(content=content, images=images):
            return len(content) + _CHARACTERS_PER_IMAGE * len(images)
