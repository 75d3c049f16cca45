"""Conversation with tool calls for a model that knows only system, user and assistant.

If the model should write JSON, calls are shown as the JSON it would have written and results as the
user's text. If it should answer in text, calls are left out and results become notes, because a
small model that sees its own JSON repeats it instead of answering.
"""

from __future__ import annotations

import json

from agents.llm.adapters.constrained_choice import Choice, exchange_of
from agents.llm.adapters.wire_names import wire_arguments
from agents.llm.messages import (
    UNSEEN,
    AssistantMessage,
    ChatRequest,
    Message,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from agents.llm.profiles import Constrained


def json_conversation(
    request: ChatRequest, choice: Choice, *, answer: str, rules: Constrained
) -> tuple[str, tuple[Message, ...]]:
    """Return system prompt and messages for a reply that is one JSON object."""
    lines = [_tool_line(tool, show_schema=rules.show_schemas) for tool in choice.tools]
    if choice.answer:
        lines.append(f'- {answer}: answer the user in plain words {{"text":...}}')
    order = 'Reply with one JSON object {"tool":...,"args":{...}}.'
    system = "\n".join(filter(None, [request.system, "Tools:", *lines, order]))
    turns = _Turns()
    for message in (*_fitting_examples(request, choice), *request.messages):
        match message:
            case UserMessage(text, images):
                turns.user(text + UNSEEN * len(images))
            case AssistantMessage(text, calls):
                for call in calls:
                    turns.assistant(call_text(call.name, wire_arguments(call.arguments)))
                if text and not calls:
                    turns.assistant(call_text(answer, {"text": text}))
            case ToolMessage(_, name, content, is_error):
                turns.user(f"{'Error' if is_error else 'Result'} of {name}: {content}")
    return system, turns.messages()


def text_conversation(request: ChatRequest, rules: Constrained) -> tuple[str, tuple[Message, ...]]:
    """Return system prompt and messages for a reply in plain text."""
    turns = _Turns()
    noted = False
    for message in request.messages:
        match message:
            case UserMessage(text, images):
                turns.user(text + UNSEEN * len(images))
            case AssistantMessage(text):
                if text:
                    turns.assistant(text)
            case ToolMessage(_, _, content):
                turns.user(content if noted else f"\nNotes:\n{content}")
        noted = isinstance(message, ToolMessage)
    if any(isinstance(message, ToolMessage) for message in exchange_of(request.messages)):
        turns.user(f"\n{rules.notes_hint}")
    return request.system, turns.messages()


def call_text(name: str, arguments: dict[str, object]) -> str:
    """Return a call as the model writes it."""
    return json.dumps({"tool": name, "args": arguments}, ensure_ascii=False, separators=(",", ":"))


def _tool_line(tool: ToolDefinition, *, show_schema: bool) -> str:
    line = f"- {tool.name}: {tool.description}"
    if not show_schema:
        return line
    schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
    return f"{line} args: {schema}"


def _fitting_examples(request: ChatRequest, choice: Choice) -> tuple[Message, ...]:
    """Return the example calls, unless they use a tool that is not offered now."""
    offered = {tool.name for tool in choice.tools}
    used = {
        call.name
        for message in request.examples
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
    return request.examples if used <= offered else ()


class _Turns:
    """Collector of turns; templates of small models require user and assistant to alternate."""

    def __init__(self) -> None:
        self._turns: list[tuple[type[UserMessage] | type[AssistantMessage], list[str]]] = []

    def user(self, text: str) -> None:
        self._add(UserMessage, text)

    def assistant(self, text: str) -> None:
        self._add(AssistantMessage, text)

    def _add(self, kind: type[UserMessage] | type[AssistantMessage], text: str) -> None:
        if self._turns and self._turns[-1][0] is kind:
            self._turns[-1][1].append(text)
        else:
            self._turns.append((kind, [text]))

    def messages(self) -> tuple[Message, ...]:
        return tuple(kind("\n".join(texts).strip()) for kind, texts in self._turns)
