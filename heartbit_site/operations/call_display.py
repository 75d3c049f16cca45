"""A tool call that a person is asked about, as a card shows it: all of it, with nothing hidden."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import httpx

from agents.querysets import shown_tool
from agents.reads.turns import definition_of
from agents.runtime.toolbox import offered_tools
from heartbit_site.base.effect_text import describe_effect
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.visible_text import readable_json, split_hidden, visible
from heartbit_site.contract.approvals import CallDisplayOut, HostOut, PieceOut, ShownArgumentOut
from tools.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents.models import Run, ToolCall
    from heartbit_site.base.models import Workspace
    from heartbit_site.base.toolspec import ToolSpec

_KINDS: Final = {str: "text", bool: "yes or no", int: "number", float: "number", dict: "object"}
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,15}://[^\s\"'<>]+", re.IGNORECASE)
_MOST_HOSTS: Final = 50
_SAFE: Final = 2**53 - 1  # a browser's numbers hold every integer up to here


class ToolSchemas:
    """Tools that each version of a workspace's agents offers its runs; read once a version."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[tuple[int, bool], Mapping[str, ToolSpec]] = {}

    def parameters(self, run: Run, tool: str) -> dict[str, Any] | None:
        """Return the JSON Schema of a tool's arguments; None: it changed after publication."""
        key = (run.version_id, run.parent_id is not None)
        if key not in self._known:
            self._known[key] = self._offered(run)
        spec = self._known[key].get(tool)
        return dict(spec.parameters) if spec is not None else None

    @cached_property
    def _tools(self) -> Mapping[str, ToolSpec]:
        return catalogue(self._workspace.pk)

    def _offered(self, run: Run) -> Mapping[str, ToolSpec]:
        try:
            definition = definition_of(run.version)
        except ConfigurationError:
            return {}  # a newer Heartbit wrote it, and knows what it offers
        return offered_tools(definition, self._tools, is_child=run.parent_id is not None).specs


def asked_view(call: ToolCall, arguments: Mapping[str, Any], reason: str) -> CallDisplayOut:
    """Return the card of a call.

    Args:
        call: It waits for a person.
        arguments: What it would run with, or was made with, in the order in which they are shown.
        reason: Reason for asking a person.
    """
    tool = shown_tool(call)
    shown = [_argument(name, value) for name, value in arguments.items()]
    pieces_shown = [piece for one in shown for piece in (*one.name, *one.value)]
    return CallDisplayOut(
        tool=_parts(tool),
        requested_name=[] if call.tool == tool else _parts(call.tool),
        reason=_parts(reason),
        effect=describe_effect(call.effect),
        arguments=shown,
        hosts=_hosts(arguments),
        hidden_character_count=sum(piece.escaped for piece in pieces_shown),
        arguments_json=readable_json(arguments),
        is_javascript_safe=all(abs(number) <= _SAFE for number in _integers(arguments)),
    )


def _argument(name: str, value: object) -> ShownArgumentOut:
    text = value if isinstance(value, str) else readable_json(value)
    kind = "nothing" if value is None else _KINDS.get(type(value), "list")
    return ShownArgumentOut(name=_parts(name), kind=kind, value=_parts(text))


def _parts(text: str) -> list[PieceOut]:
    found = enumerate(split_hidden(text))
    return [PieceOut(text=piece, escaped=bool(index % 2)) for index, piece in found if piece]


def _hosts(arguments: Mapping[str, Any]) -> list[HostOut]:
    """Return where the addresses among the arguments lead, as the network spells it."""
    found: dict[tuple[str, str], None] = {}
    for name, value in arguments.items():
        for text in _texts(value):
            for address in _URL.findall(text):
                found[visible(name), _host(address)] = None
                if len(found) >= _MOST_HOSTS:
                    break
    return [HostOut(argument=name, host=host) for name, host in found]


def _host(address: str) -> str:
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        return "no address that can be reached"
    host = url.raw_host.decode("ascii")
    return f"{host}:{url.port}" if url.port is not None else host


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, one in value.items():
                yield name
                yield from _texts(one)
        case list():
            for one in value:
                yield from _texts(one)


def _integers(value: object) -> Iterator[int]:
    match value:
        case bool():
            return
        case int():
            yield value
        case dict():
            for one in value.values():
                yield from _integers(one)
        case list():
            for one in value:
                yield from _integers(one)
