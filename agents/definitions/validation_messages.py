"""Messages about invalid settings: unknown keys, wrong types, values out of range."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

from pydantic import BaseModel, ValidationError

from agents.definitions.validators import KEYS_BELONG
from heartbit_site.base.errors import ConfigurationError
from tools.texts.near_names import hint

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

#: Path of a setting: keys, and indices of arrays.
Path: TypeAlias = tuple[str | int, ...]
#: A setting, and the end of the sentence about it that begins with its name.
Complaint: TypeAlias = tuple[Path, str]

#: Keys of the Rust original, or that people may expect, each with the end of its message.
_ELSEWHERE: Final = {
    "sandbox": "is not a section: HEARTBIT_SANDBOX names the sandbox where the workers run",
    "mcp_servers": (  # of an agent; a file translates it
        "is not a setting of an agent: name the server's tools in tools, or all of them as SERVER_*"
    ),
    "skills": (  # of an agent it is a setting
        "is not a section: `heartbit skills add` adds skills, and an agent names them in skills"
    ),
}
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
    "timezone_aware": "must have an offset from UTC, such as 2026-12-01T09:00:00+01:00",
    "string_pattern_mismatch": "must be of the form {pattern}",
    "union_tag_not_found": 'needs its kind: "email", "webhook", "artifact" or "drive"',
    "union_tag_invalid": "must be of the kind {expected_tags}, not '{tag}'",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length} entries",
    "string_too_long": "must have at most {max_length} characters",
}
#: Phrases that do not end with what there is instead.
_COMPLETE: Final = (
    *("missing", "string_too_short", "too_short"),
    *("union_tag_not_found", "union_tag_invalid"),
)
_SHOWN: Final = 60
_MOST_BITS: Final = 64
#: Errors of one table: to compare each unknown name with the known ones takes long.
MOST_COMPLAINTS: Final = 100


class InvalidSettingError(ConfigurationError):
    """A setting that cannot be used.

    Attributes:
        path: Place of the setting within the agent's settings.
        message: End of a sentence that begins with the setting's name.
    """

    def __init__(
        self, path: Path, message: str, *, subject: str = "", subject_path: Path = ()
    ) -> None:
        self.path = (*subject_path, *path)
        self.field = str(self.path[0]) if self.path else ""
        self.message = message
        sentence = sentence_of(path, message)
        super().__init__(f"{subject}: {sentence}" if subject else sentence)


def check(model: type[BaseModel], content: object, path: Path) -> Iterator[Complaint]:
    """Yield the errors of the table at a path.

    A model with another form says by ``written_at(content, place)`` where the content has a place.
    """
    written_at = getattr(model, "written_at", lambda _, place: place)
    try:
        model.model_validate(content)
    except ValidationError as error:
        for details in islice(error.errors(include_url=False), MOST_COMPLAINTS):
            loc, table = _located(model, details["loc"])
            where = (*path, *written_at(content, loc))
            if details["type"] == "extra_forbidden":
                known = [field.alias or name for name, field in table.model_fields.items()]
                yield where, unknown(loc[-1], known)
            else:
                yield where, phrase(details)


def unknown(key: str | int, known: Iterable[str], *, kind: str = "setting") -> str:
    """Return the end of the sentence about a key that is not accepted."""
    name = str(key)
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    if is_secret(name):
        return f"is not a setting; {KEYS_BELONG}"
    return f"is not a {kind}; {hint(name, known)}"


def is_secret(name: str) -> bool:
    """Return True if a key is named like a secret."""
    return _SECRET.search(name.lower().replace("-", "_")) is not None


def secrets(
    content: object, path: Path, *, parameters: Collection[str] = ()
) -> Iterator[Complaint]:
    """Yield errors about keys for secrets in a free-form table, such as a tool's defaults.

    Args:
        content: The table.
        path: Path of the table.
        parameters: Names of the tool's own parameters, which are always accepted as keys.
    """
    if isinstance(content, dict):
        for name, inner in content.items():
            here = (*path, name)
            if is_secret(name) and name not in parameters:
                yield here, f"looks like a secret; {KEYS_BELONG}"
            else:
                yield from secrets(inner, here)


def sentence_of(path: Path, message: str) -> str:
    """Format an error as a sentence, given the setting's path within its table."""
    label = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    sentence = f"{label.removeprefix('.')} {message}"
    return sentence if sentence.endswith("?") else f"{sentence}."


def _located(model: type[BaseModel], loc: Path) -> tuple[Path, type[BaseModel]]:
    """Return pydantic's location as a path in the user's own content, and its table's model.

    In pydantic's location, the kind of a table with several possible kinds is a separate part, and
    so is the mark of a key.
    """
    path: list[str | int] = []
    models = [model]
    loc = loc[:-1] if loc[-1:] == ("[key]",) else loc
    for part in loc[:-1]:
        kinds = {one.model_fields["kind"].default: one for one in models} if models[1:] else {}
        if part in kinds:
            models = [kinds[part]]
            continue
        path.append(part)
        if isinstance(part, str) and part in models[0].model_fields:
            models = list(_models_in(models[0].model_fields[part].annotation)) or models
    return (*path, *loc[-1:]), models[0]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def phrase(details: ErrorDetails) -> str:
    """Return the end of a sentence about a value; it begins with the setting's name."""
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
        case int() if content.bit_length() > _MOST_BITS:
            return "a number of more than 64 bits"
        case str() | int() | float():
            return json.dumps(content, ensure_ascii=False)
    return str(content)
