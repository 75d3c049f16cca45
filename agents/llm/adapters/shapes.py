"""Type-safe reads of untrusted JSON: a value of the wrong type becomes an empty one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents.llm.errors import StreamTruncatedError
from agents.llm.text import clean_json

if TYPE_CHECKING:
    from agents.llm.adapters.endpoint import Endpoint

#: Largest value of the usage ledger's columns; a larger int may not even convert to a float.
MAX_COUNT = 2**31 - 1


def as_dict(value: object) -> dict[str, Any]:
    """Return ``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return ``value`` if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_str(value: object) -> str:
    """Return ``value`` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """Return ``value`` within 0 and ``MAX_COUNT`` if it is an integer, else 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(max(value, 0), MAX_COUNT)


def arguments_text(value: object) -> str:
    """Return a tool call's arguments, or a piece of them, as text; empty for none.

    Some servers send whole objects where the dialect has pieces of text.
    """
    if isinstance(value, str):
        return value
    return "" if value in (None, {}) else json.dumps(clean_json(value), ensure_ascii=False)


def parse_event(data: str, *, endpoint: Endpoint) -> dict[str, Any]:
    """Parse the data of one stream event, which must be a JSON object.

    Raises:
        StreamTruncatedError: The data is not a JSON object.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StreamTruncatedError(
            f"{endpoint.label} sent an event that is not JSON; try again, and if it persists, "
            "check that the base URL is the API's and not a web page's."
        ) from error
    if not isinstance(value, dict):
        raise StreamTruncatedError(
            f"{endpoint.label} sent an event that is not a JSON object; try again, and if it stays "
            "so check that the server speaks this dialect."
        )
    return value
