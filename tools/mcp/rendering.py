"""Results of MCP servers as text for a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import mcp_types

if TYPE_CHECKING:
    from collections.abc import Iterable

#: More is cut by the pipeline anyhow; a description of the rest would be lost with it.
MAX_CHARACTERS: Final = 1_000_000
_BASE64_BYTES = 3 / 4


def as_text(result: mcp_types.CallToolResult) -> str:
    """Return a result as text: its content, else its structured content as JSON.

    Servers repeat structured content as text, so it is added only where there is no text.
    """
    parts = [_block(block) for block in result.content]
    has_text = any(isinstance(block, mcp_types.TextContent) for block in result.content)
    if result.structured_content is not None and not has_text:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return _joined(parts)


def resource_as_text(
    contents: Iterable[mcp_types.TextResourceContents | mcp_types.BlobResourceContents],
) -> str:
    """Return the contents of a resource as text; binary ones are described."""
    return _joined(_contents(each) for each in contents)


def prompt_as_text(prompt: mcp_types.GetPromptResult) -> str:
    """Return a prompt's messages as text, each after its role."""
    return _joined(f"{one.role}: {_block(one.content)}" for one in prompt.messages)


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(parts)[:MAX_CHARACTERS] or "(no content)"


def _block(block: mcp_types.ContentBlock) -> str:
    match block:
        case mcp_types.TextContent():
            return block.text
        case mcp_types.ImageContent():
            return _binary("image", block.mime_type, block.data)
        case mcp_types.AudioContent():
            return _binary("audio", block.mime_type, block.data)
        case mcp_types.ResourceLink():
            about = f": {block.description}" if block.description else ""
            return f"[resource {block.uri} ({block.name}){about}]"
        case mcp_types.EmbeddedResource():
            return _contents(block.resource)


def _contents(contents: mcp_types.TextResourceContents | mcp_types.BlobResourceContents) -> str:
    if isinstance(contents, mcp_types.TextResourceContents):
        return contents.text
    return _binary(f"resource {contents.uri}", contents.mime_type or "", contents.blob)


def _binary(what: str, kind: str, data: str) -> str:
    size = int(len(data) * _BASE64_BYTES)
    return f"[{what}, {kind or 'of an unknown type'}, {size:,} bytes, not shown]"
