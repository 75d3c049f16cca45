"""Types of the settings of a workflow: names, conditions, templates and durations."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from agents.definitions import validators
from agents.workflows.expressions.errors import ExpressionError, shown
from agents.workflows.expressions.expression import compile_expression
from agents.workflows.expressions.templates import compile_template
from heartbit_site.base.spec import Spec
from heartbit_site.base.visible_text import is_hidden, visible

#: Values of ``on_error`` that name no node.
RESERVED: Final = ("fail", "continue")
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?(ms|s|m|h|d)", re.ASCII)
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST: Final = 366 * 86_400


class PlainSpec(Spec):
    """Base of the parts of a workflow; their JSON omits defaults, so equal parts are equal."""

    model_config = ConfigDict(populate_by_name=True)

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = handler(self)
        return {
            field.alias or name: written[name if name in written else str(field.alias)]
            for name, field in type(self).model_fields.items()
            if getattr(self, name) != self.default_of(name)
        }

    def plain(self) -> dict[str, Any]:
        """Return the part as JSON values."""
        return self.model_dump(mode="json")


def _key(name: str) -> str:
    """Accept a name that looks like no other one, and that expressions read as it is written."""
    validators.storable(name)
    if name != " ".join(name.split()) or any(map(is_hidden, name)):
        raise ValueError(
            f'is "{visible(name)}"; remove spaces at its ends, double ones, tabs, line breaks and '
            "invisible characters"
        )
    normal = unicodedata.normalize("NFKC", name)
    if name != normal:
        raise ValueError(f'is "{name}", which is not in normal form (NFKC); write "{normal}"')
    return name


def _node_name(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f'is "{name}", which on_error reserves; choose another name')
    return name


def _condition(text: str) -> str:
    if text:
        _usable(compile_expression, text)
    return text.strip()


def _template(source: Any) -> Any:
    _usable(compile_template, source)
    return source


def _usable(compile_source: Callable[[Any], object], source: Any) -> None:
    try:
        compile_source(source)
    except ExpressionError as error:
        sentence = str(error)
        end = sentence[:1].lower() + sentence[1:].rstrip(".")
        raise ValueError(f"cannot be used: {end}") from None


def seconds(duration: object) -> object:
    """Return a duration in seconds; a text such as ``3d``, ``90m`` or ``1.5h`` is converted."""
    if isinstance(duration, bool) or not isinstance(duration, str | int | float):
        return duration
    if isinstance(duration, str):
        match = _DURATION.fullmatch(duration.strip())
        if match is None:
            raise ValueError(
                f"is {shown(duration)}; write a number of seconds, or such as 30s, 5m, 2d"
            )
        duration = round(float(match[1]) * _SECONDS[match[2]], 3)
    if not 0 <= duration <= _LONGEST:
        raise ValueError(f"must be from 0 to {_LONGEST:,} seconds, which are a year")
    return float(duration)


#: A key of the state, or a name of a function, a tool or an agent.
Key = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_key)]
NodeName = Annotated[Key, AfterValidator(_node_name)]
#: Name of a node, ``fail`` or ``continue``.
OnError = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(validators.storable)]
#: An expression; empty: none.
Condition = Annotated[str, AfterValidator(_condition)]
#: A text or data with expressions in double braces.
Template = Annotated[Any, AfterValidator(validators.storable_json), AfterValidator(_template)]
#: A text with expressions in double braces.
TextTemplate = Annotated[str, AfterValidator(validators.storable), AfterValidator(_template)]
TemplateTable = Annotated[
    dict[str, Any],
    Field(max_length=1_000),
    AfterValidator(validators.storable_json),
    AfterValidator(_template),
]
Value = Annotated[Any, AfterValidator(validators.storable_json)]
Duration = Annotated[float, BeforeValidator(seconds)]
