"""Responses that every route can give, for the description."""

from __future__ import annotations

from typing import Any

_ALWAYS = (401, 403, 404, 422, 429, 503)
_OF_BODIES = (400, 408, 413)


def answers(form: Any, *others: int, status: int = 200, body: bool = False) -> dict[int, Any]:
    """Return the responses of a route, for its ``response=``.

    An error's schema is that of ``DescribedAPI``: ninja would make a model for each of a thousand.

    Args:
        form: The schema of success.
        others: Further statuses that mean an error, such as 404.
        status: Of success.
        body: Whether it takes a JSON body.
    """
    errors = (*_ALWAYS, *others, *(_OF_BODIES if body else ()))
    return {status: form, **dict.fromkeys(sorted(errors))}


STREAM: dict[str, Any] = {
    "responses": {
        200: {
            "description": "Server-sent events",
            "content": {
                "text/event-stream": {
                    "schema": {
                        "type": "string",
                        "description": (
                            "`event: TYPE` with `id: SEQ` for journal events, `event: delta` for "
                            "streamed text, `event: end` last; `data:` is a JSON object."
                        ),
                    }
                }
            },
        }
    }
}

FILE: dict[str, Any] = {
    "responses": {
        200: {
            "description": "The file, as a download",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    }
}
