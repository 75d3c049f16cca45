"""Options for the settings of a thing, as the body of its request declares them. No Django.

::

    SETTINGS = body_options(ChannelIn, "name", "kind", agent=OptionForm(("--agent", "-a")))


    @app.command(cls=RemoteCommand)
    @with_groups
    def change(channel: str = NAME, *, settings: Annotated[Given, SETTINGS]) -> int: ...

A field `hourly_limit` is the option `--hourly-limit`, its description the help. A flag has a
counterpart (`--no-reply`), a list is named once for each value (`senders`: `--sender`), and an
object is written as JSON. ``OptionForm`` says what differs.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

import typer

from heartbit_site.cli.options.json_object import json_object
from heartbit_site.cli.options.shared import OptionGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

#: The settings that a command line names, by the names of the fields.
Given = dict[str, Any]

ENABLED: Final = "--enable/--disable"
_NULL: Final = re.compile(r"; null: [^;.]*")  # null cannot be typed


@dataclass(frozen=True)
class OptionForm:
    """The form of an option where the field does not say it.

    Attributes:
        flags: The option's names.
        metavar: What stands for its value in the help.
        help: The help, instead of the field's description.
        read: Makes the field's value of a text; its second argument is the option's name.
        example: A value, for an object.
    """

    flags: tuple[str, ...] = ()
    metavar: str = ""
    help: str = ""
    read: Callable[[str, str], Any] | None = None
    example: str = "{}"


def body_options(
    body: type[BaseModel],
    *without: str,
    within: str = "",
    prefix: str = "--",
    **forms: OptionForm,
) -> OptionGroup:
    """Return the options of a body's fields; a command gets the fields that were named.

    Args:
        body: The model of the body.
        without: Fields that have no option here.
        within: The field of another body that this one is, for sentences about errors.
        prefix: The beginning of the options' names.
        forms: Forms of options by field.
    """
    options = [
        _option(name, field, forms.get(name, OptionForm()), within, prefix)
        for name, field in body.model_fields.items()
        if name not in without
    ]

    def read(**values: Any) -> Given:
        named = ((one, values[one.parameter.name]) for one in options)
        return {
            one.field: one.read(value) if one.read else value
            for one, value in named
            if value not in (None, []) and (value != "" or one.read is None)
        }

    return OptionGroup([one.parameter for one in options], read)


@dataclass(frozen=True, slots=True)
class _FieldOption:
    """An option: its parameter in a command, and how its value is read."""

    field: str
    parameter: inspect.Parameter
    read: Callable[[str], Any] | None


def _option(
    name: str, field: FieldInfo, form: OptionForm, within: str, prefix: str
) -> _FieldOption:
    kind = _plain(field.annotation)
    is_list, is_object = get_origin(kind) is list, get_origin(kind) is dict
    word = name.removesuffix("s") if is_list else name
    flag = f"{prefix}{word.replace('_', '-')}"
    flags = form.flags or (_flag(name, flag) if kind is bool else flag,)
    noun = "JSON" if is_object else "N" if kind is int else word.rpartition("_")[2].upper()
    option = typer.Option(
        [] if is_list else None,
        *flags,
        metavar=None if kind is bool or get_origin(kind) is Literal else form.metavar or noun,
        help=form.help or _help(name, field, kind),
    )
    read = form.read or (_json(form.example) if is_object else None)
    typed: Any = list[str] if is_list else (str if read else kind) | None
    where = f"{within}_{name}" if within else name
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameter = inspect.Parameter(where, keyword, default=option, annotation=typed)
    return _FieldOption(name, parameter, (lambda text: read(text, flags[0])) if read else None)


def _json(example: str) -> Callable[[str, str], Any]:
    return lambda text, option: json_object(text, option, example)


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
    text = _NULL.sub("", field.description or f"The {name.replace('_', ' ')}.")
    text = text.removeprefix("The ").rstrip(".")
    if not text[1:2].isupper():  # an abbreviation, such as IANA
        text = text[0].lower() + text[1:]
    if kind is bool:
        return f"Set whether {text}."
    more = "; may be repeated" if get_origin(kind) is list else ""
    if field.default and isinstance(field.default, int | str):
        more += f"; {field.default} unless set"
    return f"Set the {text}{more}."
