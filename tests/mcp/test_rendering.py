"""Results of MCP servers as the text that a model gets."""

from __future__ import annotations

import json
from typing import Any

import mcp_types

from tools.mcp.rendering import as_text


def test_structured_content_that_is_nested_too_deeply_does_not_cost_the_text() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    text = mcp_types.TextContent(type="text", text="Three rooms are free.")
    result = mcp_types.CallToolResult.model_construct(
        content=[text], structured_content={"rooms": value}
    )
    assert as_text(result) == (
        "Three rooms are free.\n[structured content that is nested too deeply]"
    )


def test_structured_content_that_the_text_repeats_is_left_out() -> None:
    rooms = {"rooms": [1, 2]}
    text = mcp_types.TextContent(type="text", text=json.dumps(rooms, indent=1))
    result = mcp_types.CallToolResult(content=[text], structured_content=rooms)
    assert as_text(result) == text.text
