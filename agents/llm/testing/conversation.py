"""Parsing of the wire server's requests, for both dialects."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from agents.llm.testing.directives import Script, parse_script

_RESPOND = "__respond__"
# A result as the adapter for models without tool calls writes it (constrained JSON).
_WRITTEN_RESULT = re.compile(r"(Result|Error) of [\w.-]+: ")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request.

    Attributes:
        run: Key of the conversation: its ``run`` directive or a digest of its first user text.
        turn: Number of assistant messages so far.
        round: Number of assistant messages since the last user text.
        results: Number of tool results since then.
        native_tools: True if tools are offered and may be called.
        schema_answer: For a request with ``response_format``: name of the branch that answers in
            text, or an empty string if only calls are allowed; None without ``response_format``.
    """

    script: Script
    run: str
    turn: int
    round: int
    results: int
    native_tools: bool
    schema_answer: str | None
    stream: bool
    model: str


def read_conversation(body: dict[str, Any]) -> Conversation:
    """Read a Chat Completions or a Messages request."""
    first = last = ""
    turn = since = results = 0
    for message in body.get("messages", ()):
        match message.get("role"):
            case "assistant":
                turn += 1
                since += 1
            case "tool":
                results += 1
            case "user":
                text, found = _user_text(message.get("content"))
                results += found
                if text:
                    first = first or text
                    last, since = text, 0
                    results = found
    extraction = _extraction(first)
    script = extraction or parse_script(last)
    key = (extraction or parse_script(first)).run
    choice = body.get("tool_choice")
    none = choice == "none" or (isinstance(choice, dict) and choice.get("type") == "none")
    return Conversation(
        script=script,
        run=key or hashlib.sha256(first.encode()).hexdigest()[:16],
        turn=turn,
        round=since,
        results=results,
        native_tools=bool(body.get("tools")) and not none,
        schema_answer=_schema_answer(body.get("response_format")),
        stream=bool(body.get("stream")),
        model=str(body.get("model", "")),
    )


def _extraction(text: str) -> Script | None:
    """Return the script of a request to extract memories, from the lines of the request."""
    if not text.startswith('{"date":'):
        return None
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    said = parse_script("\n".join(line["text"] for line in lines if line.get("new")))
    answer = {"memories": []} if said.extract is None else said.extract
    key = None if said.run is None else f"{said.run}-memories"
    return Script([[(_RESPOND, answer)]], latency_ms=said.extract_latency_ms, run=key)


def _user_text(content: Any) -> tuple[str, int]:
    """Return a user message's own text and its number of tool results."""
    if isinstance(content, str):
        return ("", 1) if _WRITTEN_RESULT.match(content) else (content, 0)
    blocks = [block for block in content or () if isinstance(block, dict)]
    found = sum(block.get("type") == "tool_result" for block in blocks)
    return "\n".join(block["text"] for block in blocks if block.get("type") == "text"), found


def _schema_answer(response_format: Any) -> str | None:
    if not isinstance(response_format, dict):
        return None
    branches = response_format.get("json_schema", {}).get("schema", {}).get("anyOf", ())
    for branch in branches:
        properties = branch.get("properties", {})
        if list(properties.get("args", {}).get("properties", {})) == ["text"]:
            return str(properties["tool"]["const"])
    return ""
