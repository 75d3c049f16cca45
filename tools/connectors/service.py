"""Responses of web services as JSON or XML; failures as one sentence."""

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
    from xml.etree.ElementTree import Element

    import httpx

_MOST_SAID = 300
_MOST_JSON = 5_000_000
_WORDS = ("message", "detail", "error_description", "error")


class ServiceError(HeartbitError):
    """A web service refuses a request, or its response is not the documented one."""


def read_json(response: httpx.Response, service: str, credential: CredentialType) -> JSONValue:
    """Return the JSON of a response.

    Args:
        response: The answer, read.
        service: The service's name for people.
        credential: The credential of the request, whose secrets are not repeated.

    Raises:
        ServiceError: The answer is an error or a redirect, not JSON, or has too many values.
    """
    status = f"{response.status_code} {response.reason_phrase}".strip()
    if has_too_many(response.content):
        raise ServiceError(f"{service} returned more than {MAX_VALUES} values: narrow the request.")
    try:
        value = parse_untrusted_json(response.content, max_bytes=_MOST_JSON)
    except UntrustedJSONError as error:
        if response.is_success:
            raise ServiceError(f"{service} returned JSON that cannot be read: {error}") from None
        raise ServiceError(f"{service} refuses the request: {status}.") from None
    if response.is_success:
        return value
    words = hide_secrets(visible(one_line(_said(value), _MOST_SAID)), credential)
    raise ServiceError(f"{service} refuses the request: {status}{words and f': {words}'}.")


def _said(value: JSONValue) -> str:
    """Return a service's error message from one of the usual fields."""
    if not isinstance(value, dict):
        return ""
    for name in _WORDS:
        said = value.get(name)
        if isinstance(said, dict):
            said = _said(said)
        if isinstance(said, str) and said:
            return said.rstrip(".")
    return ""


MAX_BYTES = 5_000_000
MAX_MARKS = 200_000  # tags and attributes; a list of 2,000 events has some 40,000
_MARKS = (b"<", b'="', b"='")


class XmlError(HeartbitError):
    """A server's response is not XML that is accepted here."""


def parse_xml(data: bytes) -> Element:
    """Return the root of an XML document.

    Raises:
        XmlError: It is not well-formed, too large, or declares a document type or entities.
    """
    from xml.etree.ElementTree import ParseError  # noqa: PLC0415  defusedxml parses

    from defusedxml import DefusedXmlException  # noqa: PLC0415  needed for few calls
    from defusedxml.ElementTree import fromstring  # noqa: PLC0415

    if len(data) > MAX_BYTES:
        raise XmlError(f"The server's response has more than {MAX_BYTES} bytes: request less.")
    if sum(map(data.count, _MARKS)) > MAX_MARKS:
        raise XmlError(f"The server's response has more than {MAX_MARKS} tags: request less.")
    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except DefusedXmlException:
        raise XmlError("The server's response has a document type, which is refused.") from None
    except (ParseError, ValueError, LookupError):
        raise XmlError("The server's response is not well-formed XML.") from None
    return root
