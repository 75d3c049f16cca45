"""What the hostile provider sends, mode by mode: bytes, and what it does between them. Pure."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

from tests.chaos.model_faults import wire
from tests.chaos.model_faults.wire import Answer, Call, Dialect

SAVE = "store_item"
SHORT_WAIT, LONG_WAIT = 5, 12
CUT_SAVE_BYTES = 300
TEXT_BYTES = 20_000_000
LARGE_TEXT_BYTES = 4_000_000
MANY_CALLS = 5_000
DEPTH = 100_000
DIGITS = "9" * 5_000
ABSURD = 10**4000


class Hang:
    """Nothing more is sent, until the client goes."""


class Reset:
    """The connection is torn down, not closed."""


HANG, RESET = Hang(), Reset()
Step = bytes | float | Hang | Reset  # a float: so many seconds of silence


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as a script sees it.

    Attributes:
        case: The run's name, which effects are named after.
        detail: What the mode's name leaves open, such as an offset.
        attempt: How often this turn was asked, from 1.
        elsewhere: Another host's URL.
    """

    dialect: Dialect
    case: str
    detail: str
    attempt: int
    elsewhere: str

    def sound(self) -> bytes:
        """A whole answer."""
        return self.whole(Answer(text=(wire.SOUND,)))

    def whole(self, answer: Answer) -> bytes:
        """An answer as a complete response."""
        return wire.whole(b"".join(wire.events(self.dialect, answer)))

    def save(self, number: int = 0, size: int = 0, **changes: Any) -> Call:
        """A call that has an effect of its own; with a size, its arguments have so many bytes."""
        written: dict[str, Any] = {"op": f"{self.case}/{number}"}
        if size:
            empty = len(json.dumps({**written, "pad": ""}))
            written["pad"] = "x" * (size - empty)
        return Call(SAVE, changes.pop("arguments", json.dumps(written)), **changes)


Script = Callable[[Asked], Iterator[Step]]
Once = Callable[[Asked], bytes]


def _always(make: Once) -> Script:
    return lambda asked: iter((make(asked),))


def _once(make: Once) -> Script:
    return lambda asked: iter((make(asked) if asked.attempt == 1 else asked.sound(),))


def _status(status: str, *headers: str) -> Once:
    def make(asked: Asked) -> bytes:
        body = json.dumps(wire.error(asked.dialect, "scripted_error")).encode()
        return wire.response(status, body, *headers)

    return make


def _date(seconds: int) -> Once:
    def make(asked: Asked) -> bytes:
        # Whole seconds only: the date is at least so far away.
        when = formatdate(math.ceil(time.time()) + seconds, usegmt=True)
        return _status("429 Too Many Requests", f"retry-after: {when}")(asked)

    return make


def _answer(**fields: Any) -> Once:
    return lambda asked: asked.whole(Answer(**{"text": (wire.SOUND,), **fields}))


def _calls(make: Callable[[Asked], tuple[Call, ...]]) -> Script:
    return _always(lambda asked: asked.whole(Answer(calls=make(asked))))


def _replaced(fields: dict[str, Any], old: bytes, new: bytes) -> Once:
    """An answer with bytes in it that no JSON writer would write."""

    def make(asked: Asked) -> bytes:
        answer = Answer(**{"text": (wire.SOUND,), **fields})
        stream = b"".join(wire.events(asked.dialect, answer))
        if old not in stream:
            raise ValueError(f"{old!r} is not in the answer")
        return wire.whole(stream.replace(old, new))

    return make


def _half(asked: Asked) -> bytes:
    made = wire.events(asked.dialect, Answer(text=("All ", "is ", "well.")))
    return b"".join(made[: len(made) // 2])


def _hang_stream(asked: Asked) -> Iterator[Step]:
    yield wire.STREAM_HEAD + wire.CHUNKED + wire.chunk(_half(asked))
    yield HANG


def _hang_headers(_asked: Asked) -> Iterator[Step]:
    yield HANG


def _hang_error(_asked: Asked) -> Iterator[Step]:
    yield b"HTTP/1.1 500 Oops\r\ncontent-type: text/html\r\ncontent-length: 9000\r\n\r\n<html>"
    yield HANG


def _drip(asked: Asked) -> Iterator[Step]:
    yield wire.STREAM_HEAD + wire.CLOSE
    for byte in b"".join(wire.events(asked.dialect, Answer(text=(wire.SOUND,)))):
        yield 1.0
        yield bytes([byte])


def _comments(_asked: Asked) -> Iterator[Step]:
    yield wire.STREAM_HEAD + wire.CLOSE
    while True:
        yield b": still here\n\n"
        yield 0.2


def _slow(asked: Asked) -> Iterator[Step]:
    yield float(LONG_WAIT)
    yield asked.sound()


def _reset(asked: Asked) -> Iterator[Step]:
    if asked.attempt > 1:
        yield asked.sound()
        return
    yield wire.STREAM_HEAD + wire.CHUNKED + wire.chunk(_half(asked))
    yield RESET


def cut_answer(asked: Asked, kind: str) -> Answer:
    """The answer of the truncation sweep, about 2 kB in either dialect, whatever the case."""
    if kind == "text":
        return Answer(text=tuple(f"{n} {'word ' * 15}" for n in range(8)))
    return Answer(calls=tuple(map(asked.save, range(3), itertools.repeat(CUT_SAVE_BYTES))))


def _cut(asked: Asked) -> Iterator[Step]:
    """The answer up to the byte that the case names for this attempt; in the end, whole."""
    kind, _, named = asked.detail.partition("@")
    offsets = list(map(int, named.split(".")))
    stream = b"".join(wire.events(asked.dialect, cut_answer(asked, kind)))
    if asked.attempt > len(offsets):
        yield wire.whole(stream)
        return
    offset = offsets[asked.attempt - 1]
    part = stream[:offset]
    if offset % 2:
        yield wire.STREAM_HEAD + wire.CHUNKED + b"%x\r\n%b" % (len(stream), part)
    else:
        yield wire.STREAM_HEAD + wire.CLOSE + part


def _second_cut(asked: Asked) -> Iterator[Step]:
    made = wire.events(asked.dialect, Answer(calls=(asked.save(0), asked.save(1))))
    if asked.attempt > 1:
        yield wire.whole(b"".join(made))
        return
    # Up to the first half of the second call's arguments: the first call is complete.
    upto = 3 if asked.dialect == "openai" else 7
    yield wire.STREAM_HEAD + wire.CLOSE + b"".join(made[:upto])


def _huge(asked: Asked) -> Iterator[Step]:
    """20 MB of text, in pieces."""
    first, second, *_ = wire.events(asked.dialect, Answer(text=("x" * 20_000,)))
    third = wire.events(asked.dialect, Answer(text=("x" * 20_000,)))[2]
    yield wire.STREAM_HEAD + wire.CLOSE
    if asked.dialect == "anthropic":
        yield first + second
    delta = first if asked.dialect == "openai" else third
    for _ in range(TEXT_BYTES // 20_000):
        yield delta


def _event(kind: str, *, times: int) -> Script:
    def script(asked: Asked) -> Iterator[Step]:
        if times and asked.attempt > times:
            yield asked.sound()
        else:
            yield wire.whole(_half(asked) + wire.error_event(asked.dialect, kind))

    return script


def _body_error(kind: str) -> Once:
    def make(asked: Asked) -> bytes:
        return wire.response("200 OK", json.dumps(wire.error(asked.dialect, kind)).encode())

    return make


def _stream(asked: Asked) -> bytes:
    return b"".join(wire.events(asked.dialect, Answer(text=(wire.SOUND,))))


def _other_kind(asked: Asked) -> bytes:
    return wire.response("200 OK", _stream(asked), kind="text/plain")


def _redirect(asked: Asked) -> bytes:
    return wire.response("302 Found", b"", f"location: {asked.elsewhere}/v1/chat/completions")


def _redirect_again(asked: Asked) -> bytes:
    return wire.response("307 Temporary", b"", f"location: {asked.elsewhere}/v1/chat/completions")


def _gzip(*headers: bytes) -> Once:
    return lambda asked: wire.gzipped(_stream(asked), *headers)


_PAGE = b"<!doctype html><html><head><title>Welcome</title></head><body>Log in</body></html>"
_RATE = "429 Too Many Requests"
_DEEP = "[" * DEPTH + "]" * DEPTH

SCRIPTS: dict[str, Script] = {
    "sound": _always(Asked.sound),
    "429-seconds": _once(_status(_RATE, f"retry-after: {SHORT_WAIT}")),
    "429-long": _once(_status(_RATE, f"retry-after: {LONG_WAIT}")),
    "429-long-forever": _always(_status(_RATE, f"retry-after: {LONG_WAIT}")),
    "429-date": _once(_date(SHORT_WAIT)),
    "429-long-date": _once(_date(LONG_WAIT)),
    "429-silent": _once(_status(_RATE)),
    "429-forever": _always(_status(_RATE)),
    "500-once": _once(_status("500 Internal Server Error")),
    "502-once": _once(_status("502 Bad Gateway")),
    "503-once": _once(_status("503 Service Unavailable")),
    "529-once": _once(_status("529 Overloaded")),
    "500-forever": _always(_status("500 Internal Server Error")),
    "502-forever": _always(_status("502 Bad Gateway")),
    "503-forever": _always(_status("503 Service Unavailable")),
    "529-forever": _always(_status("529 Overloaded")),
    "400": _always(_status("400 Bad Request")),
    "401": _always(_status("401 Unauthorized")),
    "404": _always(_status("404 Not Found")),
    "refused": _always(Asked.sound),
    "tls-garbage": _always(Asked.sound),
    "redirect-302": _always(_redirect),
    "redirect-307": _always(_redirect_again),
    "html-200": _always(lambda _: wire.response("200 OK", _PAGE, kind="text/html")),
    "html-500": _always(lambda _: wire.response("500 Oops", _PAGE, kind="text/html")),
    "error-body-200": _always(_body_error("overloaded_error")),
    "rejection-body-200": _always(_body_error("invalid_request_error")),
    "wrong-content-type": _always(_other_kind),
    "gzip": _always(_gzip(b"content-encoding: gzip\r\n")),
    "gzip-unannounced": _always(_gzip()),
    "hang-headers": _hang_headers,
    "hang-stream": _hang_stream,
    "hang-error-body": _hang_error,
    "drip": _drip,
    "comments-only": _comments,
    "slow-first-byte": _slow,
    "reset-once": _reset,
    "cut": _cut,
    "second-call-cut": _second_cut,
    "no-final-event": _always(_answer(final=False)),
    "error-event-once": _event("overloaded_error", times=1),
    "error-event-forever": _event("overloaded_error", times=0),
    "no-choice": _always(_answer(choices=False, text=())),
    "empty-content": _always(_answer(text=())),
    "20-mb": _huge,
    "large-text": _always(_answer(text=("x" * 40,) * (LARGE_TEXT_BYTES // 160))),
    "5000-calls": _calls(lambda asked: tuple(map(asked.save, range(MANY_CALLS)))),
    "malformed-arguments": _calls(lambda asked: (asked.save(arguments='{"op": "unfinis'),)),
    "wrong-types": _calls(lambda asked: (asked.save(arguments='{"op": 7}'),)),
    "arguments-no-object": _calls(lambda asked: (asked.save(arguments="[1]"),)),
    "unknown-tool": _calls(lambda _: (Call("store_itme_all", "{}"),)),
    "duplicate-ids": _calls(lambda asked: (asked.save(0, id="same"), asked.save(1, id="same"))),
    "long-names": _calls(
        lambda asked: (asked.save(0, id="i" * 10_000), Call("n" * 10_000, "{}", id="j"))
    ),
    "nul-arguments": _calls(
        lambda asked: (asked.save(arguments=json.dumps({"op": f"{asked.case}/0", "pad": "\0"})),)
    ),
    "nan-arguments": _calls(lambda asked: (asked.save(arguments='{"op": NaN}'),)),
    "long-int-arguments": _calls(lambda asked: (asked.save(arguments=f'{{"op": {DIGITS}}}'),)),
    "deep-arguments": _calls(lambda asked: (asked.save(arguments=f'{{"op": {_DEEP}}}'),)),
    "invalid-utf8": _always(_replaced({}, b"well", b"\xff\xfewell")),
    "lone-surrogate": _always(_answer(text=("a\ud800b", "c\udfff"))),
    "nul": _always(_answer(text=("a\0b",))),
    "nan": _always(_answer(numbers={"extra": math.nan, "more": math.inf}, usage=(math.nan, 1))),
    "long-int": _always(_replaced({"usage": (123456789, 1)}, b"123456789", DIGITS.encode())),
    "deep-json": _always(_replaced({"usage": (123456789, 1)}, b"123456789", _DEEP.encode())),
    "model-switches": _always(_answer(models=("a-model", "another", "a-third"))),
    "negative-usage": _always(_answer(usage=(-5, -7))),
    "absurd-usage": _always(_answer(usage=(ABSURD, ABSURD))),
    "no-usage": _always(_answer(usage=None)),
}
