"""Mapping of a webhook's body to a task, through texts that contain fields of the body.

Usage::

    mapping = check_mapping({"task": "Answer {ticket.body}", "conversation": "{ticket.id}",
                             "only": {"type": ["ticket.created", "ticket.answered"]}})
    found = read_body(mapping, body)  # None: ignored by ``only``

``{ticket.body}`` is the field ``body`` of the object ``ticket``, ``{items.0}`` the first of an
array; ``{ticket.note?}`` may be missing. Other texts in braces are left unchanged, but braces must
be paired.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from agents.errors import InvalidMappingError, MessageTooLongError, MissingFieldError
from agents.output.fences import in_fence
from heartbit_site.base.untrusted import UntrustedJSONError, clean_json

_PATH = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){0,15}"
_FIELD = re.compile(rf"\{{({_PATH})(\??)\}}")
_BRACE = re.compile(r"[{}]")
_SHOWN_CHARACTERS = 60
_READABLE = 20_000  # characters; longer values are not indented
_MOST_FILLED = 1_000_000
_MOST_DIGITS = 9  # in an array index; int() raises for thousands of digits
_MISSING: Final = object()


def _paired(text: str) -> str:
    """Refuse an unpaired brace: it usually belongs to a field, which would stay text."""
    depth = 0
    for brace in _BRACE.findall(text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            raise ValueError("a } has no {: write a field as {ticket.body}")
    if depth:
        raise ValueError("a { has no }: write a field as {ticket.body}")
    return text


def _with_field(text: str) -> str:
    """Refuse a task without a field, as the agent would read nothing of the message."""
    if text and not _FIELD.search(text):
        raise ValueError(
            "it has no field of the body: add one, such as {ticket.body}, or leave the task out "
            "to use the whole body"
        )
    return text


_Scalar = str | int | float | bool | None
_Text = Annotated[str, Field(max_length=20_000), AfterValidator(_paired)]
_Short = Annotated[str, Field(max_length=500), AfterValidator(_paired)]


class Mapping(BaseModel):
    """Texts with fields, for the parts of a message.

    Attributes:
        task: Task for the agent; empty: the whole body.
        title: Title of a new conversation.
        conversation: Key of the conversation: equal keys share one; empty: always a new one.
        sender: Name of the sender.
        only: Fields and their accepted values; other messages are ignored.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    task: Annotated[_Text, AfterValidator(_with_field)] = ""
    title: _Short = ""
    conversation: _Short = ""
    sender: _Short = ""
    only: Annotated[
        dict[Annotated[str, Field(pattern=rf"^{_PATH}\z")], _Scalar | list[_Scalar]],
        Field(max_length=20),
    ] = {}


@dataclass(frozen=True, slots=True)
class Mapped:
    """Parts of one message, with fields filled in."""

    task: str
    title: str
    conversation: str
    sender: str


def check_mapping(value: object) -> Mapping:
    """Validate the mapping in a JSON value.

    Raises:
        InvalidMappingError: The mapping is not valid; the message says why, in one sentence.
    """
    try:
        return Mapping.model_validate(clean_json(value))
    except UntrustedJSONError as error:
        raise InvalidMappingError(f"The mapping cannot be stored as JSON: {error}") from error
    except ValidationError as error:
        raise InvalidMappingError(_sentence(error)) from None


def read_body(mapping: Mapping, body: JsonValue) -> Mapped | None:
    """Fill in the texts from a body; None: the mapping ignores the body.

    Raises:
        MissingFieldError: The body lacks a field that a text needs.
        MessageTooLongError: The fields are too long in total.
    """
    if not all(_is_one_of(_look_up(body, path), wanted) for path, wanted in mapping.only.items()):
        return None
    return Mapped(
        task=_filled(mapping.task, body) if mapping.task else _whole(body),
        title=_filled(mapping.title, body),
        conversation=_filled(mapping.conversation, body),
        sender=_filled(mapping.sender, body),
    )


def _whole(body: JsonValue) -> str:
    text = json.dumps(body, ensure_ascii=False)
    if len(text) <= _READABLE:
        text = json.dumps(body, ensure_ascii=False, indent=2)
    return in_fence(text, "json")


def _filled(text: str, body: JsonValue) -> str:
    """Fill in a text in one pass: field values are never expanded."""
    pieces: list[str] = []
    place = size = 0
    for found in _FIELD.finditer(text):
        shown = _shown(body, found[1], optional=bool(found[2]))
        size += len(shown)
        if size > _MOST_FILLED:  # a field may be used often
            raise MessageTooLongError(
                f"The message's fields are longer than {_MOST_FILLED:,} characters in total."
            )
        pieces += [text[place : found.start()], shown]
        place = found.end()
    return "".join([*pieces, text[place:]])


def _shown(body: JsonValue, path: str, *, optional: bool) -> str:
    value = _look_up(body, path)
    if value is _MISSING:
        if optional:
            return ""
        raise MissingFieldError(
            f"The body has no field {path!r}, which the channel's mapping requires: send it, or "
            f"write {{{path}?}} in the mapping."
        )
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _look_up(body: JsonValue, path: str) -> object:
    found: object = body
    for step in path.split("."):
        if isinstance(found, dict):
            found = found.get(step, _MISSING)
        elif isinstance(found, list):
            index = int(step) if step.isdecimal() and len(step) <= _MOST_DIGITS else len(found)
            found = found[index] if index < len(found) else _MISSING
        else:
            return _MISSING
    return found


def _is_one_of(value: object, wanted: _Scalar | list[_Scalar]) -> bool:
    choices = wanted if isinstance(wanted, list) else [wanted]
    # true does not match 1, nor does a missing field match null.
    return any(type(value) is type(choice) and value == choice for choice in choices)


def _sentence(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    if not problem["loc"]:
        return "A mapping must be an object with task, title, conversation, sender and only."
    name = ".".join(map(str, problem["loc"][:2]))[:_SHOWN_CHARACTERS]
    if problem["type"] == "extra_forbidden":
        known = ", ".join(Mapping.model_fields)
        return f"A mapping has no field {name!r}: use {known}."
    message = problem["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    return f"The mapping's {name!r} is not valid: {message}."
