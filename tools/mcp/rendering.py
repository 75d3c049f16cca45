"""Results of MCP servers as text for a model."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any, Final

import mcp_types

from heartbit_site.base.json_values import MAX_VALUES, has_too_many
from heartbit_site.base.pictures import kind_of

#: The pipeline would cut more, and with it the description of what was left out.
MAX_CHARACTERS: Final = 1_000_000
_BASE64_BYTES = 3 / 4


def as_text(result: mcp_types.CallToolResult) -> str:
    """Return a result as text: its content, and its structured content as JSON.

    Structured content is left out if the text repeats it, as most servers do.
    """
    parts = [
        f"[image, {block.mime_type}]"
        if isinstance(block, mcp_types.ImageContent) and _picture(block)
        else _block(block)
        for block in result.content
    ]
    try:
        if result.structured_content is not None and not _is_repeated(result):
            parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    except RecursionError:
        parts.append("[structured content that is nested too deeply]")
    return _joined(parts)


def pictures_in(result: mcp_types.CallToolResult) -> tuple[bytes, ...]:
    """Return the pictures of a result, unchecked; others are described by ``as_text``."""
    return tuple(filter(None, map(_picture, result.content)))


def _picture(block: mcp_types.ContentBlock) -> bytes:
    """Return the file of a block of a kind that models see; empty for any other block."""
    if not isinstance(block, mcp_types.ImageContent):
        return b""
    try:
        data = base64.b64decode(block.data, validate=True)
    except ValueError:
        return b""
    return data if kind_of(data) else b""


def _is_repeated(result: mcp_types.CallToolResult) -> bool:
    """Return True if the text blocks repeat the structured content, as the SDKs write it.

    The SDKs write it as JSON in one block. A value that is not an object is wrapped as ``{"result":
    ...}`` and written as its own text, or as a block for each element of an array.
    """
    structured: Any = result.structured_content
    texts = [block.text for block in result.content if isinstance(block, mcp_types.TextContent)]
    values = [_parsed(text) for text in texts]
    if structured in values:
        return True
    if not isinstance(structured, dict) or structured.keys() != {"result"}:
        return False
    wrapped = structured["result"]
    return wrapped in values or wrapped in texts or wrapped in (values, texts)


def _parsed(text: str) -> Any:
    """Return the value of a JSON text; return a text that is too large or not JSON unchanged."""
    if len(text) > MAX_VALUES and has_too_many(text.encode("utf-8", "replace")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


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
