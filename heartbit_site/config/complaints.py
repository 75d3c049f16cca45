"""Sentences for what is wrong with a table: unknown keys, wrong types, values out of range."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import ValidationError

from heartbit_site.config.rules import KEYS_BELONG
from heartbit_site.config.sections import (
    AgentSection,
    OrchestratorSection,
    ProviderSection,
    RetrySection,
    Section,
    ServerSection,
    ToolSection,
)
from tools.registry import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_core import ErrorDetails

    from heartbit_site.config.positions import Path

Complaint: TypeAlias = "tuple[Path, str]"

SECTIONS: Final = ("provider", "orchestrator", "agents", "schedules", "server")
_LATER: Final = frozenset({"memory", "telemetry", "workflows", "skills", "sandbox", "mcp_servers"})
_SECRET: Final = re.compile(
    r"(?:^|_)(?:api_?keys?|(?:access|private|secret)_?keys?|secrets?|token|password|passwd"
    r"|credentials?|authorization|bearer)(?:$|_)"
)
_PHRASES: Final = {
    "missing": "is missing",
    "string_type": "must be text in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "datetime_type": "must be a date and time with an offset, such as 2026-12-01T09:00:00+01:00",
    "timezone_aware": "must say its offset from UTC, such as 2026-12-01T09:00:00+01:00",
    "string_pattern_mismatch": "must be of the form {pattern}",
    "union_tag_not_found": 'needs its kind: "email", "webhook" or "artifact"',
    "union_tag_invalid": "must be of the kind {expected_tags}, not '{tag}'",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "too_long": "must have at most {max_length} entries",
    "string_too_long": "must have at most {max_length} characters",
}
#: Phrases that do not end with what there is instead.
_COMPLETE: Final = ("missing", "string_too_short", "union_tag_not_found", "union_tag_invalid")
_SHOWN: Final = 60


def check(section: type[Section], content: object, path: Path) -> Iterator[Complaint]:
    """What is wrong with the table at a path."""
    try:
        section.model_validate(content)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            where = (*path, *details["loc"])
            if details["type"] == "extra_forbidden":
                yield where, unknown(where[-1], _keys(where[:-1]), path=where)
            else:
                yield where, phrase(details)


def unknown(key: str | int, known: Iterable[str], *, path: Path = ()) -> str:
    """Why a key is not accepted."""
    name = str(key)
    if name in _LATER:
        kind = "mcp_servers" if name == "mcp_servers" else f"the section {name}"
        return f"is not available yet: {kind} comes with a later version of Heartbit"
    if is_secret(name):
        return f"is not a setting; {KEYS_BELONG}"
    near = closest(name, known)
    kind = "section" if len(path) == 1 else "setting"
    there = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
    return f"is not a {kind}; {there}"


def is_secret(name: str) -> bool:
    """Whether a key of that name holds what only its owner may know."""
    return _SECRET.search(name.lower().replace("-", "_")) is not None


def secrets(content: object, path: Path) -> Iterator[Complaint]:
    """Keys for secrets in a free table, such as a tool's defaults."""
    if isinstance(content, dict):
        for name, inner in content.items():
            here = (*path, name)
            if is_secret(name):
                yield here, f"looks like a secret; {KEYS_BELONG}"
            else:
                yield from secrets(inner, here)


def sentence_of(path: Path, message: str) -> str:
    """A complaint as a sentence, given the setting's path within its table."""
    label = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    sentence = f"{label.removeprefix('.')} {message}"
    return sentence if sentence.endswith("?") else f"{sentence}."


def _keys(path: Path) -> tuple[str, ...]:
    section: type[Section]
    match path:
        case ("provider",):
            section = ProviderSection
        case ("provider", "retry"):
            section = RetrySection
        case ("server",):
            section = ServerSection
        case (*_, "tools", int()):
            section = ToolSection
        case ("orchestrator",):
            section = OrchestratorSection
        case _:
            section = AgentSection
    return tuple(section.model_fields)


def phrase(details: ErrorDetails) -> str:
    """The end of a sentence about a value; the setting's name is its beginning."""
    context: dict[str, Any] = details.get("ctx", {})
    if details["type"] == "value_error":
        return str(context["error"])
    said = _PHRASES.get(details["type"], details["msg"]).format(**context).replace("'", '"')
    complete = details["type"] in _COMPLETE
    return said if complete else f"{said}, not {_shown(details['input'])}"


def _shown(content: object) -> str:
    match content:
        case dict():
            return "a table"
        case list():
            return "an array"
        case str() if len(content) > _SHOWN:
            return f"{len(content)} characters"
        case str() | int() | float():
            return json.dumps(content, ensure_ascii=False)
    return str(content)
