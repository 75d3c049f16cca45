"""Answers of web services, as values or as one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.base.credentials import CredentialType
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.json_values import MAX_VALUES, has_too_many
from heartbit_site.base.untrusted import JSONValue, UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import visible
from tools.credentials.hiding import hide_secrets
from tools.mail.headers import one_line

if TYPE_CHECKING:
    import httpx


_MOST_SAID = 300
_MOST_JSON = 5_000_000
_WORDS = ("message", "detail", "error_description", "error")


class ServiceError(HeartbitError):
    """A web service refuses a request, or its answer is not the documented one."""


def read_json(response: httpx.Response, service: str, credential: CredentialType) -> JSONValue:
    """Return the JSON of an answer.

    Args:
        response: The answer, read.
        service: The service's name for people.
        credential: The credential of the request, whose secrets are not repeated.

    Raises:
        ServiceError: The answer is an error or a redirect, not JSON, or has too many values.
    """
    status = f"{response.status_code} {response.reason_phrase}".strip()
    if has_too_many(response.content):
        raise ServiceError(f"{service} answers with more than {MAX_VALUES} values: ask for less.")
    try:
        value = parse_untrusted_json(response.content, max_bytes=_MOST_JSON)
    except UntrustedJSONError as error:
        if response.is_success:
            raise ServiceError(f"{service} answers no JSON that can be read: {error}") from None
        raise ServiceError(f"{service} refuses the request: {status}.") from None
    if response.is_success:
        return value
    words = hide_secrets(visible(one_line(_said(value), _MOST_SAID)), credential)
    raise ServiceError(f"{service} refuses the request: {status}{words and f': {words}'}.")


def _said(value: JSONValue) -> str:
    """Return a service's own words on an error, in one of the usual places."""
    if not isinstance(value, dict):
        return ""
    for name in _WORDS:
        said = value.get(name)
        if isinstance(said, dict):
            said = _said(said)
        if isinstance(said, str) and said:
            return said.rstrip(".")
    return ""
