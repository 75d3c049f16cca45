"""Views of a tool call that a person decides. Needs no Django."""

from __future__ import annotations

from pydantic import Field

from heartbit_site.base.view import View


class PieceOut(View):
    """A piece of a text; an escaped one stands for a character that cannot be seen."""

    text: str
    escaped: bool


class ShownArgumentOut(View):
    """One argument; a value that is no text is JSON."""

    name: list[PieceOut]
    kind: str
    value: list[PieceOut]


class HostOut(View):
    """Destination of an address among the arguments, as the network spells it (punycode)."""

    argument: str
    host: str


class CallDisplayOut(View):
    """A call as a person should see it, with nothing hidden."""

    tool: list[PieceOut]
    requested_name: list[PieceOut] = Field(description="Name that the model used, if it differs.")
    reason: list[PieceOut]
    effect: str
    arguments: list[ShownArgumentOut]
    hosts: list[HostOut]
    hidden_character_count: int = Field(
        description="Count of characters of the arguments that are shown as escapes."
    )
    arguments_json: str = Field(
        description="The arguments as JSON that means exactly what is shown."
    )
    is_javascript_safe: bool = Field(
        description="True if JavaScript's numbers can hold the numbers."
    )
