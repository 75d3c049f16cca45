"""Read a request's body as untrusted JSON."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from heartbit_site.api.errors import (
    MOST_BODY_BYTES,
    MalformedBodyError,
    TooLargeError,
    describe_limit,
)
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

MAX_BODY_BYTES = 1_000_000
#: Of requests below these paths: a document or picture of 10 MB, in base64 or as text.
LARGER_BODIES = (
    ("/api/v1/runs", MOST_BODY_BYTES),
    ("/api/v1/conversations/", MOST_BODY_BYTES),
    ("/api/v1/collections/", 4_000_000),  # vectors
    ("/api/v1/knowledge-bases/", MOST_BODY_BYTES),
    ("/api/v1/mcp-servers", MOST_BODY_BYTES),
    ("/api/v1/drive", MOST_BODY_BYTES),
)


def body_limit(path: str) -> int:
    """Return the limit in bytes for the JSON body of a request to a path of the API."""
    return next((limit for place, limit in LARGER_BODIES if path.startswith(place)), MAX_BODY_BYTES)


class UntrustedParser(Parser):
    """Parser that refuses values that cannot be stored unchanged."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Return the body's value, of any type: the schema decides.

        Raises:
            TooLargeError: It is larger than ``body_limit``.
            MalformedBodyError: It is not JSON, is nested too deeply, is not UTF-8, or has
            characters that cannot be stored (NUL, a lone surrogate).
        """
        body = request.body
        limit = body_limit(request.path)
        if len(body) > limit:
            raise TooLargeError(describe_limit(limit))
        try:
            text = body.decode("utf-8")
            value: Any = parse_untrusted_json(text, max_bytes=limit)
        except UnicodeDecodeError as error:
            raise MalformedBodyError(
                f"The body is not UTF-8: byte {error.start} cannot be read."
            ) from None
        except UntrustedJSONError as error:
            raise MalformedBodyError(str(error)) from None
        # Parsing replaces such characters; only an escape can have brought one here.
        if "\\u" in text and json.loads(text.removeprefix("\ufeff")) != value:
            raise MalformedBodyError(
                "The body has a character that cannot be stored: remove NUL and lone surrogates."
            )
        return value  # type: ignore[no-any-return]
