"""Answers of the wire server, independent of the dialect."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.llm.testing.directives import Call

if TYPE_CHECKING:
    from agents.llm.testing.conversation import Conversation

_WORDS = "The wire server answers with words that mean nothing and cost nothing at all."


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: pieces of text, or calls, and the tokens billed."""

    id: str
    model: str
    thinking: str
    pieces: tuple[str, ...]
    calls: tuple[Call, ...]
    prompt_tokens: int
    completion_tokens: int


def make_answer(conversation: Conversation, *, number: int, body_bytes: int, chunks: int) -> Answer:
    """Follow the script: its calls round by round while tools are offered, then the text."""
    script = conversation.script
    rounds = script.rounds * script.repeat
    schema = conversation.schema_answer
    may_call = conversation.native_tools or schema is not None
    due = rounds[conversation.round] if may_call and conversation.round < len(rounds) else []
    text = "" if due else _text(conversation)
    calls = tuple(due)
    if schema is not None:
        text, calls = _as_json(text, due, answer=schema), ()
    return Answer(
        id=f"wire{number}",
        model=conversation.model,
        thinking=script.thinking,
        pieces=_pieces(text, script.chunks or chunks),
        calls=calls,
        prompt_tokens=tokens(body_bytes),
        completion_tokens=sum(
            tokens(len(part)) for part in (text, script.thinking, *map(_call_text, calls)) if part
        ),
    )


def tokens(characters: int) -> int:
    """Return the tokens of a text: one for every four characters, rounded up."""
    return -(-characters // 4)


def call_arguments(call: Call) -> str:
    """Return a call's arguments as the JSON text that is sent."""
    return json.dumps(call[1], ensure_ascii=False, separators=(",", ":"))


def _call_text(call: Call) -> str:
    return call[0] + call_arguments(call)


def _text(conversation: Conversation) -> str:
    script = conversation.script
    if script.text is not None:
        return script.text
    if script.tokens is not None:
        return " ".join(itertools.islice(itertools.cycle(_WORDS.split()), script.tokens))
    if conversation.results:
        return f"Answered after {conversation.results} tool results."
    return "Hello from the wire server."


def _as_json(text: str, due: list[Call], *, answer: str) -> str:
    if due:
        name, arguments = due[0]  # a schema asks for one call at a time
    else:
        name, arguments = answer or "answer", {"text": text}
    call: dict[str, Any] = {"tool": name, "args": arguments}
    return json.dumps(call, ensure_ascii=False, separators=(",", ":"))


def _pieces(text: str, count: int) -> tuple[str, ...]:
    if not text:
        return ()
    size = max(1, -(-len(text) // max(1, count)))
    return tuple(text[start : start + size] for start in range(0, len(text), size))
