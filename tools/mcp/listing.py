"""Lists of MCP servers' tools, read within bounds and turned into definitions.

A server's claims are not trusted: its list may be endless, a schema may not be valid, and a tool
that deletes may be declared "read-only". A server whose list exceeds the limits is refused; a
single unusable tool is left out, with the reason.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

from heartbit_site.base import amounts
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema
from heartbit_site.base.toolspec import Effect, Origin, ToolSpec
from heartbit_site.base.untrusted import clean_text
from tools.mcp.errors import McpListingError
from tools.server_spec import tool_prefix

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client

    from tools.mcp.tool_screen import ToolScreen

_NEITHER: Final = re.compile(r"[^a-z0-9]+")
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
MAX_TOOLS: Final = 256
MAX_PAGES: Final = 32
MAX_NAME_CHARACTERS: Final = 128
MAX_DESCRIPTION_CHARACTERS: Final = 8_000
MAX_SCHEMA_CHARACTERS: Final = 65_536
MAX_LISTING_CHARACTERS: Final = 1_000_000
_MAX_NAME = 64


@dataclass(frozen=True, slots=True)
class Offer:
    """Tools that a server offers.

    Attributes:
        tools: Its usable tools, by their own names, in its order.
        left_out: Reasons why its other tools cannot be used, by name.
        requests: Requests of the tools that are operations of an API.
        operations: All operations of an API, for people to pick from.
    """

    tools: dict[str, mcp_types.Tool]
    left_out: dict[str, str]
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    operations: list[dict[str, str]] = field(default_factory=list)


async def read_offer(
    client: Client,
    own: dict[str, mcp_types.Tool],
    screen: ToolScreen,
    say: Callable[[str], None] = lambda _: None,
) -> Offer:
    """Return the tools that a server offers.

    Args:
        client: The server's client.
        own: Heartbit's own tools for the server's resources and prompts, by name.
        screen: Screen of the client's messages, which removes malformed tools.
        say: Receives sentences about the progress, for people.

    Raises:
        McpListingError: It offers more than a workspace takes.
        MCPError: The server returned an error.
    """
    offer, size, cursor = Offer(own, {}), 0, None
    if client.server_capabilities.tools is None:
        return offer
    for number in range(1, MAX_PAGES + 1):
        page = await client.list_tools(cursor=cursor)
        offer.left_out.update(screen.take_malformed())
        for tool in page.tools:
            size += _take(offer, tool)
            if size > MAX_LISTING_CHARACTERS:
                raise McpListingError(
                    f"its list of tools has more than {MAX_LISTING_CHARACTERS:,} characters"
                )
        if len(offer.tools) + len(offer.left_out) > MAX_TOOLS:
            raise McpListingError(f"it has more than {MAX_TOOLS} tools")
        cursor = page.next_cursor
        if cursor is None:
            return offer
        listed = amounts.counted(len(offer.tools) + len(offer.left_out), "tool")
        say(f"{listed} on {amounts.counted(number, 'page')} so far.")
    raise McpListingError(f"its list of tools has more than {MAX_PAGES} pages")


def _take(offer: Offer, tool: mcp_types.Tool) -> int:
    """Add a tool to an offer; return its characters, 0 if it is left out."""
    if tool.name in offer.tools:
        offer.left_out[tool.name] = "it is listed twice"
        return 0
    if fault := fault_of(tool):
        offer.left_out[tool.name[:MAX_NAME_CHARACTERS]] = fault
        return 0
    offer.tools[tool.name] = tool
    return len(tool.description or "") + _size(tool.input_schema)


def definition(
    tool: mcp_types.Tool, *, name: str, effect: Effect, request: dict[str, Any] | None = None
) -> ToolSpec:
    """Return a server's tool as a definition that can be shown and pinned, but not called.

    Args:
        tool: The tool, as the server lists it.
        name: Its name in the workspace.
        effect: Consequence of repeating its calls, see ``effect_of``.
        request: Request of an API's operation.
    """

    def not_here(**_arguments: Any) -> NoReturn:
        raise TypeError(f"{name} is only a definition")

    title = tool.title or (tool.annotations.title if tool.annotations else None) or tool.name
    return ToolSpec(
        name=name,
        description=clean_text(tool.description or "").strip() or clean_text(title),
        parameters=_parameters(tool),
        function=not_here,
        effect=effect,
        origin=Origin.MCP,
        request=request,
    )


def effect_of(tool: mcp_types.Tool, *, trusted: bool) -> Effect:
    """Return the effect class of a server's tool: its hints count if the server is trusted."""
    hints = tool.annotations
    if not trusted or hints is None:
        return Effect.AT_MOST_ONCE
    if hints.read_only_hint:
        return Effect.PURE
    return Effect.IDEMPOTENT if hints.idempotent_hint else Effect.AT_MOST_ONCE


def only_reads_its_own(tool: mcp_types.Tool) -> bool:
    """Return True if a tool says that it changes nothing and reaches nothing beyond its server."""
    hints = tool.annotations
    return hints is not None and hints.read_only_hint is True and hints.open_world_hint is False


def local_names(
    server: str,
    remote_names: Sequence[str],
    *,
    known: Mapping[str, str],
    taken: Collection[str],
    splits_words: bool = False,
) -> dict[str, str]:
    """Return the workspace's names of a server's tools, by the server's.

    Args:
        server: Name of the server.
        remote_names: Names that the server gives.
        known: Existing names of some of them, which are kept.
        taken: Names of other tools.
        splits_words: True to read ``getUser`` as two words.
    """
    names = {remote: known[remote] for remote in remote_names if remote in known}
    used = {*taken, *known.values()}
    for remote in sorted(set(remote_names) - set(names)):
        words = _WORD_START.sub("_", remote) if splits_words else remote
        own = _NEITHER.sub("_", words.lower()).strip("_")
        name = f"{tool_prefix(server)}{own}".strip("_")
        if len(name) > _MAX_NAME or name in used:
            mark = hashlib.sha256(remote.encode("utf-8", "replace")).hexdigest()[:6]
            name = f"{name[: _MAX_NAME - 7]}_{mark}"
        if name not in used:
            names[remote] = name
            used.add(name)
    return names


def _parameters(tool: mcp_types.Tool) -> dict[str, Any]:
    return {"type": "object", "properties": {}, **tool.input_schema}


def fault_of(tool: mcp_types.Tool) -> str:
    """Return why a tool cannot be used, or an empty string."""
    if not tool.name or len(tool.name) > MAX_NAME_CHARACTERS or clean_text(tool.name) != tool.name:
        return f"its name does not have 1 to {MAX_NAME_CHARACTERS} storable characters"
    if len(tool.description or "") > MAX_DESCRIPTION_CHARACTERS:
        return f"its description has more than {MAX_DESCRIPTION_CHARACTERS:,} characters"
    if _size(tool.input_schema) > MAX_SCHEMA_CHARACTERS:
        return f"its schema has more than {MAX_SCHEMA_CHARACTERS:,} characters"
    schema = _parameters(tool)
    if schema["type"] != "object":
        return "its parameters are not of type object"
    text = json.dumps(schema, ensure_ascii=False)
    if clean_text(text) != text or "\\u0000" in text:
        return "its schema has a character that cannot be stored"
    try:
        check_schema(schema)
    except ConfigurationError as error:
        return str(error)
    return ""


def _size(schema: Mapping[str, Any]) -> int:
    try:
        return len(json.dumps(dict(schema)))
    except (ValueError, RecursionError):
        return MAX_LISTING_CHARACTERS
