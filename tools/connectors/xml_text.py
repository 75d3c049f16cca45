"""XML answers of remote servers, which may be hostile: no entities, no document types, bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_BYTES = 5_000_000
MAX_MARKS = 200_000  # tags and attributes; a list of 2,000 events has some 40,000
_MARKS = (b"<", b'="', b"='")


class XmlError(HeartbitError):
    """A server's answer is no XML that is read here."""


def parse_xml(data: bytes) -> Element:
    """Return the root of an XML document.

    Raises:
        XmlError: It is not well-formed, too large, or declares a document type or entities.
    """
    from xml.etree.ElementTree import ParseError  # noqa: PLC0415  defusedxml parses

    from defusedxml import DefusedXmlException  # noqa: PLC0415  needed for few calls
    from defusedxml.ElementTree import fromstring  # noqa: PLC0415

    if len(data) > MAX_BYTES:
        raise XmlError(f"The server's answer has more than {MAX_BYTES} bytes: ask for less.")
    if sum(map(data.count, _MARKS)) > MAX_MARKS:
        raise XmlError(f"The server's answer has more than {MAX_MARKS} tags: ask for less.")
    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except DefusedXmlException:
        raise XmlError("The server's answer has a document type, which is refused.") from None
    except (ParseError, ValueError, LookupError):
        raise XmlError("The server's answer is not well-formed XML.") from None
    return root
