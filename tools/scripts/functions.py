"""Tools as typed Python functions of a script, and the search of them by words. Pure.

functions = script_functions(specs)            # by the function's name
functions["send_email"].signature              # "async def send_email(to: str) -> Any"
functions["send_email"].arguments(("a@b.c",), {})      # '{"to": "a@b.c"}'
"""

from __future__ import annotations

import builtins
import json
import keyword
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from heartbit_site.base.toolspec import Origin, ToolSpec
from tools.scripts.types import python_type, shape

_NOT_IN_NAMES: Final = re.compile(r"\W", re.ASCII)
_RESERVED: Final = frozenset({*keyword.kwlist, *dir(builtins), "asyncio", "typing"})


@dataclass(frozen=True, slots=True)
class ScriptFunction:
    """A tool as an async function.

    Attributes:
        name: Name of the function: the tool's, with an underscore after it if Python has that name.
        tool: The tool's own name.
        signature: Its head in Python, without the colon.
        description: Text for the model.
        parameters: The tool's arguments by the function's parameters, in order.
        returns_text: True if a result is text, even where it looks like JSON.
    """

    name: str
    tool: str
    signature: str
    description: str
    parameters: Mapping[str, str]
    returns_text: bool

    @property
    def listing(self) -> str:
        """Signature and description, as a model reads them."""
        lines = "".join(f"\n    {line}" for line in self.description.splitlines())
        return f"{self.signature}{lines}"

    @property
    def stub(self) -> str:
        """Declaration for the type checker."""
        return f"{self.signature}: ..."

    def arguments(self, positional: tuple[Any, ...], named: Mapping[str, Any]) -> str:
        """Return the tool's arguments as JSON text.

        Raises:
            TypeError: An argument is unknown, given twice, or no JSON value.
            ValueError: A number is not finite.
        """
        if len(positional) > len(self.parameters):
            raise TypeError(f"{self.name}() takes {len(self.parameters)} arguments")
        given = dict(zip(self.parameters, positional, strict=False))
        for parameter, value in named.items():
            if parameter not in self.parameters:
                raise TypeError(f"{self.name}() has no parameter {parameter!r}")
            if parameter in given:
                raise TypeError(f"{self.name}() got {parameter!r} twice")
            given[parameter] = value
        values = {self.parameters[name]: value for name, value in given.items()}
        try:
            plain = to_jsonable_python(values)
        except PydanticSerializationError:
            raise TypeError(f"{self.name}() takes values that JSON has") from None
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)

    def value(self, content: str) -> Any:
        """Return a result's text as the script gets it: its JSON value, if it has one."""
        if self.returns_text:
            return content
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            return content


def script_functions(specs: Mapping[str, ToolSpec]) -> dict[str, ScriptFunction]:
    """Return tools as functions, by the functions' names."""
    functions = (_function(spec) for spec in specs.values())
    return {function.name: function for function in functions}


def _function(spec: ToolSpec) -> ScriptFunction:
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    required = [name for name in spec.parameters.get("required", ()) if name in properties]
    optional = [name for name in properties if name not in required]
    parameters: dict[str, str] = {}
    heads: list[str] = []
    notes: list[str] = []
    for argument in (*required, *optional):
        schema = properties[argument]
        name = _name(argument)
        while name in parameters:
            name += "_"
        parameters[name] = argument
        kind = python_type(schema, spec.parameters)
        heads.append(f"{name}: {kind}" + ("" if argument in required else _default(schema)))
        described = schema.get("description", "") if isinstance(schema, dict) else ""
        note = " ".join(str(described).split())
        detail = shape(schema, spec.parameters)
        if text := ". ".join(part for part in (note.rstrip("."), detail) if part):
            notes.append(f"{name}: {text}")
    name = _name(spec.name)
    returns_text = _returns_text(spec)
    returns = "str" if returns_text else "Any"
    return ScriptFunction(
        name=name,
        tool=spec.name,
        signature=f"async def {name}({', '.join(heads)}) -> {returns}",
        description="\n".join([spec.description, *notes]),
        parameters=parameters,
        returns_text=returns_text,
    )


def _name(name: str) -> str:
    name = _NOT_IN_NAMES.sub("_", name)
    name = f"_{name}" if not name or name[0].isdecimal() else name
    return f"{name}_" if name in _RESERVED else name


def _default(schema: Any) -> str:
    if not isinstance(schema, dict) or "default" not in schema:
        return " = ..."
    default = schema["default"]
    plain = default is None or isinstance(default, (bool, int, float, str))
    return f" = {default!r}" if plain and len(repr(default)) <= 40 else " = ..."


def _returns_text(spec: ToolSpec) -> bool:
    """Return True for functions that return text; a server's answers are text, but often JSON."""
    if spec.origin is Origin.MCP:
        return False
    return getattr(spec.function, "__annotations__", {}).get("return") in (str, "str")


_WORD: Final = re.compile(r"[^\W_]+")
_NAME_WEIGHT: Final = 3.0


class FunctionIndex:
    """Index of the functions of one agent."""

    def __init__(self, functions: Iterable[ScriptFunction]) -> None:
        self._functions = list(functions)
        self._names = [_words(function.name) for function in self._functions]
        self._texts = [_words(function.listing) for function in self._functions]
        self._found_in = Counter(word for text in self._texts for word in text)

    def find(self, query: str, most: int) -> list[ScriptFunction]:
        """Return the functions that fit a query, best first; none if no word of it occurs."""
        words = _words(query)
        scores = [
            sum(
                self._weight(word) * (_NAME_WEIGHT if word in name else 1.0)
                for word in words & text
            )
            for name, text in zip(self._names, self._texts, strict=True)
        ]
        best = sorted(range(len(scores)), key=lambda index: -scores[index])[:most]
        return [self._functions[index] for index in best if scores[index] > 0]

    def _weight(self, word: str) -> float:
        return math.log(1 + len(self._functions) / self._found_in[word])


def _words(text: str) -> frozenset[str]:
    """Return the words of a text, in lower case and singular."""
    found = (word.lower() for word in _WORD.findall(text))
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found)
