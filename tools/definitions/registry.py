"""Registry of tools by name: discovery, names as models write them, and a definition's hash.

Usage::

    from tools.definitions.registry import registry  # filled when Django starts
    spec = registry["current_time"]
    spec = resolve(registry, "functions.Current-Time")   # the same

A ``Registry`` is a ``Mapping`` of names to ``ToolSpec``: functions accept any selection as well.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, TypeVar

from heartbit_site.base.call_summary import check_summary
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema
from heartbit_site.base.toolspec import Effect, ToolSpec
from heartbit_site.base.untrusted import clean_text
from tools.texts.near_names import normalized

Tool = TypeVar("Tool")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_LONGEST_WRITTEN = 200  # a name with its namespace
_NAMESPACE = re.compile(r"[.:/]")


class Registry(dict[str, ToolSpec]):
    """Tools by name, in the order of registration; each can be offered to a model."""

    def __init__(self, specs: Iterable[ToolSpec] = ()) -> None:
        super().__init__()
        for spec in specs:
            self.register(spec)

    def register(self, spec: ToolSpec) -> None:
        """Add a tool; adding an equal tool again changes nothing.

        Raises:
            ConfigurationError: The name is taken or malformed, the schema cannot be used, or the
                effect class does not fit the function.
        """
        known = self.get(spec.name)
        if known is not None:
            if known is spec or replace(known, source=spec.source, origin=spec.origin) == spec:
                return
            raise ConfigurationError(
                f"Two tools have the name {spec.name!r} ({_place(known)} and {_place(spec)}): "
                "rename one of them."
            )
        _check(spec)
        self[spec.name] = spec

    def discover(self, modules: Iterable[ModuleType]) -> None:
        """Register the tools marked with ``@tool`` in modules, including imported ones.

        Raises:
            ConfigurationError: As ``register``.
        """
        for module in modules:
            for spec in marked(vars(module).values()):
                self.register(spec)


registry = Registry()


def marked(values: Iterable[object]) -> Iterator[ToolSpec]:
    """Yield the specs of the functions and classes marked with ``@tool`` or ``@orm_tool``."""
    for value in values:
        # Only a class's own mark: a subclass of a tool is not that tool.
        place = vars(value) if isinstance(value, type) else getattr(value, "__dict__", {})
        mark = place.get("__tool__") if callable(value) else None
        specs = mark if isinstance(mark, tuple) else (mark,)  # one decorator may make several tools
        yield from (spec for spec in specs if isinstance(spec, ToolSpec))


def definition_hash(spec: ToolSpec) -> str:
    """Return the SHA-256 (hexadecimal) of a tool's definition as shown to models and people.

    It covers name, description, schema, effect, whether the tool asks a person, and the request
    that it makes as an API's operation, but neither code nor limits.
    """
    shown: list[Any] = [spec.name, spec.description, dict(spec.parameters), spec.effect.value]
    if spec.answer_parameter is not None:
        shown.append(spec.answer_parameter)
    if spec.request is not None:
        shown.append({"request": dict(spec.request)})
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def resolve(specs: Mapping[str, Tool], name: str) -> Tool | None:
    """Return the tool that a name means, or ``None``.

    Letter case, punctuation and a leading namespace do not matter (``functions.Current-Time`` is
    ``current_time``), as long as only one tool fits.
    """
    spec = specs.get(name)
    if spec is not None or len(name) > _LONGEST_WRITTEN:
        return spec
    for wanted in _forms(name):
        fitting = [known for known in specs if normalized(known) == wanted]
        if wanted and len(fitting) == 1:
            return specs[fitting[0]]
    return None


def same_name(known: str, name: str) -> bool:
    """Return True if a name, as a model may write it, means the tool ``known``; see ``resolve``."""
    return normalized(known) in _forms(name)


def _forms(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((normalized(name), normalized(_NAMESPACE.split(name)[-1]))))


def _check(spec: ToolSpec) -> None:
    if not _NAME.fullmatch(spec.name):
        raise ConfigurationError(
            f"The tool name {spec.name!r} is not accepted by every model: use lower-case letters, "
            "digits and underscores, at most 64, starting with a letter."
        )
    if clean_text(spec.description) != spec.description:
        raise ConfigurationError(
            f"The description of tool {spec.name!r} contains a character that cannot be stored: "
            f"remove NUL and lone surrogates."
        )
    if spec.parameters.get("type") != "object":
        raise ConfigurationError(
            f"The parameters of tool {spec.name!r} are not of type object: make them an object."
        )
    if spec.effect is Effect.TRANSACTIONAL and spec.is_async:
        raise ConfigurationError(
            f"Tool {spec.name!r} is transactional and async: its transaction lives in a thread, "
            "so make it a plain function."
        )
    check_summary(spec.summary, spec.parameters, tool=spec.name)
    try:
        check_schema(spec.parameters)
    except ConfigurationError as error:
        raise ConfigurationError(f"Tool {spec.name!r}: {error}") from error


def _place(spec: ToolSpec) -> str:
    return spec.source or str(getattr(spec.function, "__module__", "an object"))
