"""Count of the values of a JSON text before it is parsed, in pieces as it arrives. Pure.

A parser builds objects of hundreds of bytes from values of two, so that 10 MB of JSON may take 1 GB
of memory. Counting builds no objects, and takes no more memory than a piece.
"""

from __future__ import annotations

import re
from typing import Final

#: Maximum values of an untrusted text: about 100 MB once parsed and built into models.
MAX_VALUES: Final = 100_000
_PIECE: Final = 65_536
_BEGINS: Final = (b"{", b"[", b",")
# A string ends with its line as well, since JSON has no raw line ends in strings: no unfinished
# string of one line hides the values of the next. One that the piece does not finish matches too,
# with the group, or each quote in it would be tried as the start of another one.
_STRING: Final = re.compile(
    rb'"[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+(?:"|\\?(?=[\r\n])|(\\?)\Z)', re.DOTALL
)


class ValueCount:
    """Count of objects, arrays and their items; at least the number of values less one.

    Attributes:
        total: Values since the count began or was reset to 0.
    """

    def __init__(self) -> None:
        self.total = 0
        self._rest = b""  # what continues a string: its quote, and a backslash before its end

    def feed(self, piece: bytes) -> int:
        """Count the values of the next piece of a text, and return the total."""
        parts = _STRING.split(self._rest + piece)  # text outside of strings, and the group
        backslash = parts[-2] if len(parts) > 1 else None
        self._rest = b"" if backslash is None else b'"' + backslash
        outside = b"".join(parts[::2])
        self.total += sum(map(outside.count, _BEGINS))
        return self.total


def has_too_many(text: bytes, most: int = MAX_VALUES) -> bool:
    """Return True if a text has more values; it is not read beyond them."""
    count = ValueCount()
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return any(count.feed(piece) > most for piece in pieces)
