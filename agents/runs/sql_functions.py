"""Calls of the journal's SQL functions for people, with their refusals as Heartbit errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import DatabaseError

from agents.errors import CallClosedError
from heartbit_site.base.query import fetch_one

_NO_LONGER_OPEN = "HB005"


def call_function(query: str, parameters: Sequence[Any]) -> Any:
    """Run a query that calls one function; return the function's result.

    Raises:
        CallClosedError: The call is no longer open; the message has the function's reason.
    """
    try:
        (answer,) = fetch_one(query, parameters)
    except DatabaseError as error:
        raise _refusal(error) from error
    return answer


def _refusal(error: DatabaseError) -> Exception:
    """Translate a rule violation to a Heartbit error; return other errors unchanged."""
    cause = error.__cause__
    if isinstance(cause, psycopg.Error) and cause.sqlstate == _NO_LONGER_OPEN:
        return CallClosedError(str(cause.diag.message_primary))
    return error
