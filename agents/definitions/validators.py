"""Rules for the value of a single setting, beyond its type.

Each rule takes the value and returns it, or raises ``ValueError`` with the end of a sentence that
begins with the setting's name: ``agents.writer.model`` *names the unknown provider "opnai"; ...*
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from agents.context import strategy as context_strategy
from agents.llm.bridge.known import KNOWN
from agents.llm.program_models import find, is_program_model
from agents.llm.providers import PROVIDERS
from agents.output.check import check_response_schema
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema
from heartbit_site.base.untrusted import (
    JSONValue,
    UntrustedJSONError,
    clean_json,
    clean_text,
    parse_untrusted_json,
)
from memory.scoring import PARTS as MEMORY_PARTS
from tools.texts.near_names import closest, hint

PROVIDER_NAMES: Final = (*PROVIDERS, *KNOWN)
KEYS_BELONG: Final = (
    "keys never belong here: set them in the environment (OPENAI_API_KEY, ...) or in the admin's "
    "provider accounts"
)
_MOST_MONEY: Final = 100_000_000
_AMOUNT: Final = re.compile(r"\d{1,8}(\.\d{1,4})?", re.ASCII)
_AGENT_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")
_SKILL_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PERMISSION: Final = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")
_QUEUE: Final = re.compile(r"[a-z][a-z0-9_.-]*")


def storable(text: str) -> str:
    """Accept text without NUL, which the database cannot store."""
    if clean_text(text) != text:
        raise ValueError("holds a NUL character, which cannot be stored")
    return text


def agent_name(name: str) -> str:
    """Accept a valid agent name."""
    if not _AGENT_NAME.fullmatch(name):
        raise ValueError(
            f'is "{name}"; use lower-case letters, digits, - and _, and begin with a letter'
        )
    return name


def skill_name(name: str) -> str:
    """Accept a valid name of a skill, as defined by the Agent Skills format."""
    if not _SKILL_NAME.fullmatch(name):
        raise ValueError(
            f'is "{name}"; use lower-case letters and digits, with single hyphens between them'
        )
    return name


def distinct(names: list[str]) -> list[str]:
    """Accept names without duplicates."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f'names "{name}" twice')
    return names


def permission(name: str) -> str:
    """Accept the name of a Django permission, or an empty text."""
    if name and not _PERMISSION.fullmatch(name):
        raise ValueError(f'is "{name}"; write app.action_model, such as shop.view_order')
    return name


def queue(name: str) -> str:
    """Accept a valid name of a worker queue."""
    if not _QUEUE.fullmatch(name):
        raise ValueError(f'is "{name}"; use lower-case letters, digits, . - and _')
    return name


def provider(name: str) -> str:
    """Accept a known provider, or an empty name."""
    if name and name not in PROVIDER_NAMES:
        raise ValueError(f'names the unknown provider "{name}"; {_provider_hint(name)}')
    return name


def reference(name: str) -> str:
    """Accept ``provider:model`` with a known provider, or an empty text."""
    prefix, _, model = name.partition(":")
    if not name or find(name) is not None:
        return name
    if is_program_model(name):
        raise ValueError(
            f'is "{name}", a model of a Python program that this process does not have; write '
            "provider:model"
        )
    if prefix not in PROVIDER_NAMES and not model:
        raise ValueError(f'is "{name}"; write provider:model, such as openai:{name}')
    provider(prefix)
    if not model.strip():
        raise ValueError(f'is "{name}", which names no model; write provider:model')
    return name


def one_word(text: str) -> str:
    """Accept text without white space."""
    if storable(text).split() not in ([], [text]):
        raise ValueError(f'is "{text}"; a model\'s name has no spaces')
    return text


def url(text: str) -> str:
    """Accept an http or https URL without credentials, or an empty text."""
    if not text:
        return text
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = None
    if not usable:
        raise ValueError(f'is "{text}", not an http or https URL; write it like https://host/v1')
    if "@" in parts.netloc:
        raise ValueError(f"holds a name or password; {KEYS_BELONG}")
    return text


def money(amount: object) -> object:
    """Accept an amount of US dollars with at most four decimal places, as a number or in text."""
    is_number = isinstance(amount, int | float | Decimal) and not isinstance(amount, bool)
    if not is_number and not (isinstance(amount, str) and _AMOUNT.fullmatch(amount)):
        raise ValueError("must be a number")
    exact = Decimal(str(amount))
    if not exact.is_finite() or not 0 <= exact < _MOST_MONEY:
        raise ValueError(f"must be from 0 to less than {_MOST_MONEY:,}")
    if exact != round(exact, 4):
        raise ValueError("must have at most four decimal places")
    return round(exact, 4)


def named(entry: object) -> object:
    """Expand a tool's name to its table."""
    return {"name": entry} if isinstance(entry, str) else entry


def memory_weights(weights: dict[str, float]) -> dict[str, float]:
    """Accept weights of the parts of a memory's score that can be summed."""
    unknown = sorted(weights.keys() - set(MEMORY_PARTS))
    if unknown:
        raise ValueError(f'has no "{unknown[0]}"; its parts are {", ".join(MEMORY_PARTS)}')
    if not all(0 <= weight <= 1_000 for weight in weights.values()):
        raise ValueError("has weights from 0 to 1000")
    if len(weights) == len(MEMORY_PARTS) and not any(weights.values()):
        raise ValueError("needs a weight above 0")
    return weights


def json_table(content: object) -> object:
    """Parse JSON in a string; check a value that is already parsed."""
    if not isinstance(content, str):
        return storable_json(content)
    try:
        return parse_untrusted_json(content)
    except UntrustedJSONError as error:
        raise ValueError(f"holds no valid JSON: {_end(str(error))}") from error


def storable_json(content: Any) -> Any:
    """Accept a value that JSON can represent: no dates, no infinite numbers, no NUL."""
    try:
        clean: JSONValue = clean_json(content)
    except UntrustedJSONError as error:
        raise ValueError(f"holds a value that JSON cannot represent: {_end(str(error))}") from error
    if clean != content:  # nan and inf are null there
        raise ValueError("holds a value that JSON cannot represent: nan, inf or a NUL character")
    return content


def _accepted_by(
    check: Callable[[dict[str, Any]], object],
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Build a validator of tables from a check that raises ConfigurationError."""

    def validate(content: dict[str, Any]) -> dict[str, Any]:
        try:
            check(content)
        except ConfigurationError as error:
            raise ValueError(f"cannot be used: {_end(str(error))}") from error
        return content

    return validate


usable_schema = _accepted_by(check_schema)
response_schema = _accepted_by(check_response_schema)  # valid for final answers
strategy = _accepted_by(context_strategy.parse)


def unknown_tool(name: object, tools: Collection[str]) -> str:
    """Return the end of a sentence on an unknown tool; empty if the tool is known.

    Args:
        name: A value of any type; values that are not text are reported elsewhere.
        tools: Names of the known tools.
    """
    if not isinstance(name, str) or not name or name in tools:
        return ""
    return f'names the unknown tool "{name}"; {hint(name, sorted(tools))}'


def _provider_hint(name: str) -> str:
    near = closest(name, PROVIDER_NAMES)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(PROVIDERS)}"


def _end(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")
