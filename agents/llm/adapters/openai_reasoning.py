"""Reasoning in the dialects of Chat Completions, which have no common format."""

from __future__ import annotations

from typing import Any

from agents.llm.adapters.shapes import as_dict, as_list, as_str
from agents.llm.text import clean_json, clean_text

# vLLM, llama.cpp and DeepSeek use the first, OpenRouter and Ollama the second.
_TEXT_FIELDS = ("reasoning_content", "reasoning")
_GROWING = ("text", "summary", "data")


class Reasoning:
    """Collector of one answer's reasoning, to show it and to send it back unchanged."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []

    def feed(self, delta: dict[str, Any]) -> str:
        """Collect the reasoning of a delta and return its visible text."""
        shown = ""
        for name in _TEXT_FIELDS:
            if text := as_str(delta.get(name)):
                self._texts.setdefault(name, []).append(text)
                shown = shown or clean_text(text)
        for detail in as_list(delta.get("reasoning_details")):
            self._add_detail(as_dict(detail))
        return shown

    def _add_detail(self, detail: dict[str, Any]) -> None:
        """Join the pieces of one OpenRouter detail: append text, replace other values."""
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in _GROWING and isinstance(value, str):
                last[key] = as_str(last.get(key)) + value
            elif value is not None:
                last[key] = value

    def blocks(self) -> list[dict[str, Any]]:
        """Return the blocks for the conversation's ``Thinking`` values.

        OpenRouter sends the same reasoning twice; only its details have the signatures.
        """
        if self._details:
            return [_field("reasoning_details", clean_json(self._details))]
        return [_field(name, clean_text("".join(parts))) for name, parts in self._texts.items()]


def _field(name: str, value: Any) -> dict[str, Any]:
    return {"type": "message_field", "field": name, "value": value}
