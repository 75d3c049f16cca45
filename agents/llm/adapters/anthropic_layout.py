"""Order of an answer's blocks, kept so that the answer is sent back exactly as received.

The API checks that nothing around a thinking block has changed. ``AssistantMessage`` holds texts,
calls and thinking separately, so if they alternated, an extra ``Thinking`` value has their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from agents.llm.adapters.wire_names import wire_arguments, wire_id, wire_name
from agents.llm.messages import AssistantMessage, Thinking, ToolCall

_LAYOUT = "heartbit_layout"


def layout_thinking(provider: str, order: list[str]) -> tuple[Thinking, ...]:
    """Return the layout as a ``Thinking`` value; empty if the order is the usual one.

    ``order`` holds ``thinking``, ``tool_use`` and ``text:<characters>``, one for each block.
    """
    kinds = [item.partition(":")[0] for item in order]
    usual = sorted(kinds, key=("thinking", "text", "tool_use").index)
    if "thinking" not in kinds or (kinds == usual and kinds.count("text") <= 1):
        return ()
    return (Thinking(provider, {"type": _LAYOUT, "order": order}),)


def assistant_blocks(message: AssistantMessage, *, provider: str) -> list[dict[str, Any]]:
    """Return the content blocks; thinking only for the ``provider`` that wrote it ("": none)."""
    own = [item.block for item in message.thinking if provider and item.provider == provider]
    order: list[str] = next((b["order"] for b in own if b.get("type") == _LAYOUT), [])
    thinking = [block for block in own if block.get("type") != _LAYOUT]
    if not order:
        order = ["thinking"] * len(thinking)
        order += [f"text:{len(message.text)}", *("tool_use" for _ in message.tool_calls)]
    return list(_arrange(message, order=order, thinking=iter(thinking)))


def _arrange(
    message: AssistantMessage, *, order: list[str], thinking: Iterator[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    calls = iter(message.tool_calls)
    start = 0
    for item in order:
        kind, _, length = item.partition(":")
        match kind:
            case "thinking":
                yield from islice(thinking, 1)
            case "text":
                text = message.text[start : start + int(length)]
                start += int(length)
                if text.strip():  # the API rejects blank text
                    yield {"type": "text", "text": text}
            case "tool_use":
                yield from map(_tool_use, islice(calls, 1))


def _tool_use(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": wire_id(call.id),
        "name": wire_name(call.name),
        "input": wire_arguments(call.arguments),
    }
