"""Read a request's body as untrusted JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ninja.parser import Parser

from heartbit_site.api.errors import TOO_LARGE, MalformedBodyError, TooLargeError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

if TYPE_CHECKING:
    from django.http import HttpRequest

MAX_BODY_BYTES = 1_000_000


class UntrustedParser(Parser):
    """Refuses what cannot be kept as it was sent, instead of keeping something else."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Return the body's value, of any type: the schema decides.

        Raises:
            TooLargeError: It is larger than 1 MB.
            MalformedBodyError: It is no JSON, nested too deeply, not UTF-8, or holds characters
                that no text has (NUL, half a surrogate pair).
        """
        body = request.body
        if len(body) > MAX_BODY_BYTES:
            raise TooLargeError(TOO_LARGE)
        try:
            text = body.decode("utf-8")
            value: Any = parse_untrusted_json(text, max_bytes=MAX_BODY_BYTES)
        except UnicodeDecodeError as error:
            raise MalformedBodyError(
                f"The body is not UTF-8: byte {error.start} cannot be read."
            ) from None
        except UntrustedJSONError as error:
            raise MalformedBodyError(str(error)) from None
        # Parsing replaces such characters; only an escape can have brought one here.
        if "\\u" in text and json.loads(text.removeprefix("\ufeff")) != value:
            raise MalformedBodyError(
                "The body holds a character that cannot be kept: NUL, or half a surrogate pair."
            )
        return value  # type: ignore[no-any-return]
