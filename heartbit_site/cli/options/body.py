"""Options for the settings of a thing, as the body of its request declares them. No Django.

::

    SETTINGS = body_options(ChannelIn, "name", agent=typer.Option(None, "--agent", "-a"))


    @app.command(cls=RemoteCommand)
    @with_groups
    def change(channel: str = NAME, *, settings: Annotated[Given, SETTINGS]) -> int: ...

A field `hourly_limit` is the option `--hourly-limit`, its description the help. A flag has a
counterpart (`--no-reply`), a list is named once for each value (`senders`: `--sender`), and an
object is written as JSON.
"""

from __future__ import annotations

import inspect
import re
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

import typer

from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.cli.options.shared import OptionGroup
from heartbit_site.cli.terminal.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

#: The settings that a command line names, by the names of the fields.
Given = dict[str, Any]

ENABLED: Final = "--enable/--disable"
_NULL: Final = re.compile(r"; null: [^;.]*")  # null cannot be typed


def body_options(
    body: type[BaseModel], *without: str, within: str = "", prefix: str = "--", **own: Any
) -> OptionGroup:
    """Return the options of a body's fields; a command gets the fields that were named.

    Args:
        body: The model of the body.
        without: Fields that have no option here.
        within: The field of another body that this one is, for sentences about errors.
        prefix: The beginning of the options' names.
        own: Options that are not as the field says, by field; without a help they get its.
    """
    parameters = [
        _parameter(name, field, own.get(name), within, prefix)
        for name, field in body.model_fields.items()
        if name not in without
    ]

    def read(**values: Any) -> Given:
        named = {name: value for name, value in values.items() if value not in (None, [])}
        return {name.removeprefix(f"{within}_"): value for name, value in named.items()}

    return OptionGroup(parameters, read)


def _parameter(
    name: str, field: FieldInfo, option: Any, within: str, prefix: str
) -> inspect.Parameter:
    kind = _plain(field.annotation)
    is_list = get_origin(kind) is list
    word = name.removesuffix("s") if is_list else name
    flag = f"{prefix}{word.replace('_', '-')}"
    if option is None and get_origin(kind) is dict:
        option = json_option(flag)
    elif option is None:
        flags = _flag(name, flag) if kind is bool else flag
        option = typer.Option([] if is_list else None, flags)
    if kind is not bool and get_origin(kind) is not Literal:
        noun = "N" if kind is int else word.rpartition("_")[2].upper()
        option.metavar = option.metavar or noun
    option.help = option.help or _help(name, field, kind)
    typed: Any = list[str] if is_list else (str if option.parser else kind) | None
    where = f"{within}_{name}" if within else name
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(where, keyword, default=option, annotation=typed)


def _plain(kind: Any) -> Any:
    """Return the type of a field without null and without bounds; a number for numbers."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return _plain(next(each for each in get_args(kind) if each is not type(None)))
    if get_origin(kind) is Literal and isinstance(get_args(kind)[0], int):
        return int
    return kind


def _flag(name: str, flag: str) -> str:
    return ENABLED if name == "enabled" else f"{flag}/--no-{flag.removeprefix('--')}"


def _help(name: str, field: FieldInfo, kind: Any) -> str:
    """Return the description of a field, opening with a verb, and its default."""
    unnamed = "It is enabled." if name == "enabled" else f"The {name.replace('_', ' ')}."
    text = _NULL.sub("", field.description or unnamed)
    text = text.rstrip(".")
    if kind is bool:
        return f"Set whether {text[0].lower()}{text[1:]}."
    text = text.removeprefix("The ")
    if not text[1:2].isupper():  # an abbreviation, such as IANA
        text = text[0].lower() + text[1:]
    more = "; may be repeated" if get_origin(kind) is list else ""
    if field.default and isinstance(field.default, int | str):
        more += f"; {field.default} unless set"
    return f"Set the {text}{more}."


def json_object(text: str, option: str, example: str) -> dict[str, Any]:
    """Return the JSON object that an option holds.

    Raises:
        CommandError: The text is not a JSON object; the sentence has the example.
    """
    try:
        value = parse_untrusted_json(text)
    except UntrustedJSONError as error:
        raise UsageError(f"{option} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{option} takes a JSON object, such as '{example}'.")
    return value


def json_option(flag: str, example: str = "{}", text: str = "") -> Any:
    """Return an option that takes a JSON object; its help is the text, or else the field's."""
    return typer.Option(
        None,
        flag,
        metavar="JSON",
        help=text or None,
        parser=lambda value: json_object(value, flag, example) if value else None,
    )
