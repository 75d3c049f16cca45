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


def always(make: Once) -> Script:
    return lambda asked: iter((make(asked),))


def once(make: Once) -> Script:
    return lambda asked: iter((make(asked) if asked.attempt == 1 else asked.sound(),))


def status(code: str, *headers: str) -> Once:
    """A refusal with the dialect's own error object."""

    def make(asked: Asked) -> bytes:
        body = json.dumps(wire.error(asked.dialect, "scripted_error")).encode()
        return wire.response(code, body, *headers)

    return make


def date(seconds: int) -> Once:
    """A 429 whose Retry-After is a date."""

    def make(asked: Asked) -> bytes:
        # Whole seconds only: the date is at least so far away.
        when = formatdate(math.ceil(time.time()) + seconds, usegmt=True)
        return status("429 Too Many Requests", f"retry-after: {when}")(asked)

    return make


def answer(**fields: Any) -> Once:
    return lambda asked: asked.whole(Answer(**{"text": (wire.SOUND,), **fields}))


def calls(make: Callable[[Asked], tuple[Call, ...]]) -> Script:
    return always(lambda asked: asked.whole(Answer(calls=make(asked))))


def replaced(fields: dict[str, Any], old: bytes, new: bytes) -> Once:
    """An answer with bytes in it that no JSON writer would write."""

    def make(asked: Asked) -> bytes:
        sent = b"".join(wire.events(asked.dialect, Answer(**{"text": (wire.SOUND,), **fields})))
        if old not in sent:
            raise ValueError(f"{old!r} is not in the answer")
        return wire.whole(sent.replace(old, new))

    return make


def half(asked: Asked) -> bytes:
    made = wire.events(asked.dialect, Answer(text=("All ", "is ", "well.")))
    return b"".join(made[: len(made) // 2])


def hang_stream(asked: Asked) -> Iterator[Step]:
    yield wire.STREAM_HEAD + wire.CHUNKED + wire.chunk(half(asked))
    yield HANG


def hang_headers(_asked: Asked) -> Iterator[Step]:
    yield HANG


def hang_error(_asked: Asked) -> Iterator[Step]:
    yield b"HTTP/1.1 500 Oops\r\ncontent-type: text/html\r\ncontent-length: 9000\r\n\r\n<html>"
    yield HANG


def drip(asked: Asked) -> Iterator[Step]:
    yield wire.STREAM_HEAD + wire.CLOSE
    for byte in b"".join(wire.events(asked.dialect, Answer(text=(wire.SOUND,)))):
        yield 1.0
        yield bytes([byte])


def comments(_asked: Asked) -> Iterator[Step]:
    yield wire.STREAM_HEAD + wire.CLOSE
    while True:
        yield b": still here\n\n"
        yield 0.2


def slow(asked: Asked) -> Iterator[Step]:
    yield float(LONG_WAIT)
    yield asked.sound()


def reset(asked: Asked) -> Iterator[Step]:
    if asked.attempt > 1:
        yield asked.sound()
        return
    yield wire.STREAM_HEAD + wire.CHUNKED + wire.chunk(half(asked))
    yield RESET


def cut_answer(asked: Asked, kind: str) -> Answer:
    """The answer of the truncation sweep, about 2 kB in either dialect, whatever the case."""
    if kind == "text":
        return Answer(text=tuple(f"{n} {'word ' * 15}" for n in range(8)))
    return Answer(calls=tuple(map(asked.save, range(3), itertools.repeat(CUT_SAVE_BYTES))))


def cut(asked: Asked) -> Iterator[Step]:
    """The answer up to the byte that the case names for this attempt; in the end, whole."""
    kind, _, named = asked.detail.partition("@")
    offsets = list(map(int, named.split(".")))
    complete = b"".join(wire.events(asked.dialect, cut_answer(asked, kind)))
    if asked.attempt > len(offsets):
        yield wire.whole(complete)
        return
    offset = offsets[asked.attempt - 1]
    part = complete[:offset]
    if offset % 2:
        yield wire.STREAM_HEAD + wire.CHUNKED + b"%x\r\n%b" % (len(complete), part)
    else:
        yield wire.STREAM_HEAD + wire.CLOSE + part


def second_cut(asked: Asked) -> Iterator[Step]:
    made = wire.events(asked.dialect, Answer(calls=(asked.save(0), asked.save(1))))
    if asked.attempt > 1:
        yield wire.whole(b"".join(made))
        return
    # Up to the first half of the second call's arguments: the first call is complete.
    upto = 3 if asked.dialect == "openai" else 7
    yield wire.STREAM_HEAD + wire.CLOSE + b"".join(made[:upto])


def huge(asked: Asked) -> Iterator[Step]:
    """20 MB of text, in pieces."""
    first, second, *_ = wire.events(asked.dialect, Answer(text=("x" * 20_000,)))
    third = wire.events(asked.dialect, Answer(text=("x" * 20_000,)))[2]
    yield wire.STREAM_HEAD + wire.CLOSE
    if asked.dialect == "anthropic":
        yield first + second
    delta = first if asked.dialect == "openai" else third
    for _ in range(TEXT_BYTES // 20_000):
        yield delta


def event(kind: str, *, times: int) -> Script:
    def script(asked: Asked) -> Iterator[Step]:
        if times and asked.attempt > times:
            yield asked.sound()
        else:
            yield wire.whole(half(asked) + wire.error_event(asked.dialect, kind))

    return script


def body_error(kind: str) -> Once:
    def make(asked: Asked) -> bytes:
        return wire.response("200 OK", json.dumps(wire.error(asked.dialect, kind)).encode())

    return make


def stream(asked: Asked) -> bytes:
    return b"".join(wire.events(asked.dialect, Answer(text=(wire.SOUND,))))


def other_kind(asked: Asked) -> bytes:
    return wire.response("200 OK", stream(asked), kind="text/plain")


def redirect(asked: Asked) -> bytes:
    return wire.response("302 Found", b"", f"location: {asked.elsewhere}/v1/chat/completions")


def redirect_again(asked: Asked) -> bytes:
    return wire.response("307 Temporary", b"", f"location: {asked.elsewhere}/v1/chat/completions")


def gzip(*headers: bytes) -> Once:
    return lambda asked: wire.gzipped(stream(asked), *headers)
