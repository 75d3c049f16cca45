"""Texts that break parsers. Pure."""

from __future__ import annotations

DEEP = 100_000
DIGITS = 5_000
CATASTROPHIC = r"^(a+)+$"
#: What makes a backtracking matcher of it take longer than the world lasts.
ENDLESS = "a" * 50_000 + "!"

#: As a JSON value. Those that are refused wherever JSON is read.
REFUSED: dict[str, bytes] = {
    "deep arrays": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep and open": b"[" * DEEP,
    "huge integer": b"9" * DIGITS,
    "huge negative integer": b"-" + b"9" * DIGITS,
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "huge float": b"1e999",
    "name twice": b'{"to": "a", "to": "evil"}',
    "cut": b'{"a": "b',
    "nothing but a comma": b",",
}
#: Those that some edges refuse and others make fit to be kept.
UNSTORABLE: dict[str, bytes] = {
    "escaped NUL": rb'"a\u0000b"',
    "NUL in a name": rb'{"a\u0000": 1}',
    "half a surrogate": rb'"\ud800"',
    "halves the wrong way round": rb'"\udc00\ud800"',
}
#: What is no text at all, or more than anybody writes.
BYTES: dict[str, bytes] = {
    "raw NUL": b'"a\x00b"',
    "not UTF-8": b'"\xff\xfe"',
    "UTF-16": '"x"'.encode("utf-16"),
    "surrogate in UTF-8": b'"\xed\xa0\x80"',
    "2 MB": b'"' + b"x" * 2_000_000 + b'"',
}


def member(name: str, value: bytes) -> bytes:
    """An object with the value under a name."""
    return b'{"%s": %s}' % (name.encode(), value)
