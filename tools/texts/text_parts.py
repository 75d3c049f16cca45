"""A part of a long text for a model, with its position and how to read on."""

from __future__ import annotations

import codecs


def describe_part(name: str, data: bytes, *, offset: int, size: int) -> str:
    """Return a part of a UTF-8 text under a line that says which part it is.

    An incomplete character at its end is left to the next part.

    Args:
        name: Name of the whole.
        data: The part.
        offset: First byte of the part.
        size: Bytes of the whole.
    """
    if offset >= size:
        return f"[{name} has {size} bytes: there are none from offset {offset} on]"
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data)
    end = offset + len(data) - len(decoder.getstate()[0])
    rest = "the end" if end >= size else f"read on from offset {end}"
    return f"[bytes {offset} to {end} of {size}; {rest}]\n{text}"
