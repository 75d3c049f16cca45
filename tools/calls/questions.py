"""Tools that a person answers: form, description and parsing of the answer.

A tool with a parameter annotated ``Answer`` is a question. Its call's argument ``form``, if given,
is the JSON Schema of the answer; else the answer is text.

Usage::

    choices({"enum": ["red", "green", 3]})  # ["red", "green", "3"]: the possible inputs
    explained(form)  # lines that describe the form; empty for plain text
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema, fits, validate
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

FORM: Final = "form"
TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 20_000}
REASON: Final = "The agent asks a person."
_MAX_ANSWER_BYTES = 100_000


def form_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of the answer that a call asks for."""
    form = arguments.get(FORM)
    return dict(form) if isinstance(form, dict) and form else TEXT


def problems(arguments: Mapping[str, Any], answers: Iterable[object] = ()) -> list[str]:
    """Return the problems of a question's form, or of answers to it, in sentences."""
    form = form_of(arguments)
    try:
        check_schema(form)
    except ConfigurationError as error:
        return [f"{FORM}: {error}"]
    return [f"the answer: {problem}" for one in answers for problem in validate(form, one)]


def read_answer(arguments: Mapping[str, Any], text: str) -> Any:
    """Return the value of a typed answer: the text itself if it fits the form, else its JSON.

    Raises:
        UntrustedJSONError: The answer must be JSON, and the text is not.
    """
    form = form_of(arguments)
    if fits(form, text):
        return text
    try:
        return parse_untrusted_json(text, max_bytes=_MAX_ANSWER_BYTES)
    except UntrustedJSONError as error:
        if form.get("type") == "string" or "enum" in form:
            return text  # validation against the form explains the problem
        raise UntrustedJSONError(f"The answer must be JSON that fits its form. {error}") from None


_CHOICE: Final = frozenset({"enum", "type", "title", "description", "default"})
_ABOUT: Final = ("title", "description")
_LONGEST_DRAFT: Final = 50  # names


def choices(form: Mapping[str, Any]) -> list[str]:
    """Return the possible answers as a person types them; empty if the form is not a choice.

    ``tools.calls.questions.read_answer`` converts each back to its value.
    """
    if not form.keys() <= _CHOICE:
        return []
    values = [True, False] if form.get("type") == "boolean" else form.get("enum")
    if not isinstance(values, list):
        return []
    found = [_written(value) for value in values if fits(form, value)]
    # Reject choices that are typed alike or are blank.
    return found if len(set(found)) == len(found) and all(map(str.strip, found)) else []


def are_numbered(form: Mapping[str, Any]) -> bool:
    """Return True if a choice may be named by its number: no number is itself an answer."""
    found = choices(form)
    return bool(found) and not any(text.strip().isdecimal() for text in found)


def explained(form: Mapping[str, Any], *, numbered: bool = False) -> str:
    """Return a description of the required answer, in lines; empty for any text.

    Args:
        form: JSON Schema, described in full.
        numbered: Number the choices, from 1.
    """
    if form in (TEXT, {"type": "string"}):
        return ""
    about = [str(form[name]) for name in _ABOUT if form.get(name)]
    found = choices(form)
    if found:
        marks = [f"{n}  " if numbered else "" for n in range(1, len(found) + 1)]
        lines = ["one of:", *(f"  {mark}{text}" for mark, text in zip(marks, found, strict=True))]
        if "default" in form:
            lines.append(f"default {_json(form['default'])}")
        return "\n".join([*about, *lines])
    rest = {name: value for name, value in form.items() if name not in _ABOUT}
    return "\n".join([*about, *_object(rest)] if _has_fields(rest) else [*about, _said(rest)])


def without_form(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question's arguments without the form, which is explained beside the field."""
    known = (None, form_of(arguments))
    return {name: one for name, one in arguments.items() if name != FORM or one not in known}


def draft(form: Mapping[str, Any]) -> str:
    """Return a JSON draft of the answer for a person to fill in: the names of its fields."""
    if form.get("type") == "array":
        return "[]"
    fields = form["properties"] if _has_fields(form) else {}
    needed = form.get("required") or list(fields)
    names = [name for name in needed if isinstance(name, str)][:_LONGEST_DRAFT]
    return json.dumps({name: _default(fields, name) for name in names}, indent=2)


def _has_fields(form: Mapping[str, Any]) -> bool:
    fields = form.get("properties")
    return form.get("type") == "object" and isinstance(fields, dict)


def _object(form: Mapping[str, Any]) -> list[str]:
    """Return an object's fields, one a line, and the rest of its schema."""
    needed = form.get("required", [])
    lines = ["a JSON object:"]
    for name, schema in form["properties"].items():
        words = [_said(schema), "needed" if name in needed else ""]
        lines.append(f"  {name}: {', '.join(filter(None, words)) or 'anything'}")
    known = ("type", "properties", "required")
    unnamed = [name for name in needed if name not in form["properties"]]
    lines += [f"  {name}: needed" for name in unnamed]
    return lines + [f"{name} {_json(form[name])}" for name in form if name not in known]


def _said(schema: object) -> str:
    if not isinstance(schema, dict):
        return "" if schema is True else _json(schema)
    kind = schema.get("type", "")
    words = [" or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)]
    known = {"type", *_ABOUT}
    words += [f"{name} {_json(value)}" for name, value in schema.items() if name not in known]
    about = [str(schema[name]) for name in _ABOUT if schema.get(name)]
    said = ", ".join(filter(None, words))
    return f"{said} ({'; '.join(about)})".strip() if about else said


def _default(fields: Mapping[str, Any], name: str) -> Any:
    schema = fields.get(name)
    return schema.get("default") if isinstance(schema, dict) else None


def _written(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
