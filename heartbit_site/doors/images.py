"""Images in messages of clients: data URLs, whose content is what they say it is."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from heartbit_site.doors.requests import ChatMessage, ImageAddress, RequestError

#: Images of one request at most; its body's limit is that of their size.
MOST: Final = 20
_DATA: Final = re.compile(r"data:(image/[a-z]+);base64,([A-Za-z0-9+/]+={0,2})")
#: How the content of each kind begins.
_BEGINNINGS: Final = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


def images_of(message: ChatMessage, place: str) -> list[str]:
    """Return the images of a message as data URLs.

    Raises:
        RequestError: One is another address, or its content is no such image.
    """
    parts = message.content if isinstance(message.content, list) else []
    addresses = [part.image_url for part in parts if part.is_image]
    return [
        _checked(one.url if isinstance(one, ImageAddress) else one or "", place)
        for one in addresses
    ]


def _checked(url: str, place: str) -> str:
    found = _DATA.fullmatch(url)
    if found is None or found[1] not in _BEGINNINGS:
        kinds = ", ".join(kind.removeprefix("image/") for kind in _BEGINNINGS)
        sentence = f"Send an image as a data URL (data:image/png;base64,...), of {kinds}."
        raise RequestError(sentence, place)
    try:
        content = base64.b64decode(found[2], validate=True)
    except binascii.Error:
        content = b""
    if not content.startswith(_BEGINNINGS[found[1]]):
        raise RequestError(f"The image in {place} is no {found[1]}.", place)
    return url
