"""Tools in a form that strict providers accept: plain schemas, and plain names of arguments.

Some providers reject a request if one tool's schema has a combinator at its top, or a property
whose name has characters such as ``$``. The tool's own schema checks the arguments anyway.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from agents.llm.adapters.shapes import as_dict, as_list
from agents.llm.messages import AssistantMessage, ChatRequest, Message, ToolCall, ToolDefinition
from agents.llm.text import read_object

_COMBINATORS: Final = ("allOf", "anyOf", "oneOf", "not", "enum")
_PROPERTY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NOT_IN_PROPERTIES: Final = re.compile(r"[^a-zA-Z0-9_.-]")
_MOST_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class PlainTools:
    """A request with plain tools.

    Attributes:
        request: The request to send.
        names: For each tool with renamed arguments, the original names by the names sent.
    """

    request: ChatRequest
    names: Mapping[str, Mapping[str, str]]

    def restored(self, message: AssistantMessage) -> AssistantMessage:
        """Return an answer with the arguments' original names."""
        return _renamed(message, self.names)


def with_plain_tools(request: ChatRequest) -> PlainTools:
    """Return the request with plain tools, and the same calls in its earlier answers."""
    names: dict[str, dict[str, str]] = {}
    tools = tuple(_plain(tool, names) for tool in request.tools)
    sent = {tool: {own: plain for plain, own in each.items()} for tool, each in names.items()}
    messages: tuple[Message, ...] = tuple(
        _renamed(message, sent) if isinstance(message, AssistantMessage) else message
        for message in request.messages
    )
    return PlainTools(replace(request, tools=tools, messages=messages), names)


def _plain(tool: ToolDefinition, names: dict[str, dict[str, str]]) -> ToolDefinition:
    schema = dict(tool.parameters)
    rules = {key: schema.pop(key) for key in _COMBINATORS if key in schema}
    properties = dict(as_dict(schema.get("properties")))
    for key in ("allOf", "anyOf", "oneOf"):
        for branch in as_list(rules.get(key)):
            for name, value in as_dict(as_dict(branch).get("properties")).items():
                properties.setdefault(name, value)
    plain = _plain_names(properties)
    odd = {sent: name for name, sent in plain.items() if sent != name}
    if not (rules or odd):
        return tool
    schema["properties"] = {plain[name]: value for name, value in properties.items()}
    if "required" in schema:
        schema["required"] = [plain.get(name, name) for name in as_list(schema["required"])]
    description = tool.description
    if rules:
        description += f"\nThe arguments also have to fit: {json.dumps(rules, ensure_ascii=False)}"
    if odd:
        names[tool.name] = odd
        meant = ", ".join(f"{sent} is {name}" for sent, name in odd.items())
        description += f"\nNames of arguments: {meant}."
    return replace(tool, description=description, parameters=schema)


def _plain_names(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return an acceptable name for each property, all different."""
    plain = {name: name for name in properties if _PROPERTY.fullmatch(name)}
    taken = set(plain)
    last: dict[str, int] = {}  # last number used for each base: there may be thousands
    for name in properties:
        if name not in plain:
            base = _NOT_IN_PROPERTIES.sub("_", name)[:_MOST_CHARACTERS] or "_"
            sent, number = base, last.get(base, 1)
            while sent in taken:
                number += 1
                sent = f"{base}_{number}"
            plain[name], last[base] = sent, number
            taken.add(sent)
    return plain


def _renamed(message: AssistantMessage, names: Mapping[str, Mapping[str, str]]) -> AssistantMessage:
    if not any(call.name in names for call in message.tool_calls):
        return message
    calls = tuple(_with_names(call, names.get(call.name, {})) for call in message.tool_calls)
    return replace(message, tool_calls=calls)


def _with_names(call: ToolCall, names: Mapping[str, str]) -> ToolCall:
    arguments = read_object(call.arguments)
    if arguments is None or not names.keys() & arguments.keys():
        return call
    own = {names.get(name, name): value for name, value in arguments.items()}
    return replace(call, arguments=json.dumps(own, ensure_ascii=False))
