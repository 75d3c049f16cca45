"""Which script plays which mode. Pure."""

from __future__ import annotations

import json
import math

from tests.chaos.model_faults import replies, wire
from tests.chaos.model_faults.wire import Call

_PAGE = b"<!doctype html><html><head><title>Welcome</title></head><body>Log in</body></html>"
_RATE = "429 Too Many Requests"
_DEEP = "[" * replies.DEPTH + "]" * replies.DEPTH

SCRIPTS: dict[str, replies.Script] = {
    "sound": replies.always(replies.Asked.sound),
    "429-seconds": replies.once(replies.status(_RATE, f"retry-after: {replies.SHORT_WAIT}")),
    "429-long": replies.once(replies.status(_RATE, f"retry-after: {replies.LONG_WAIT}")),
    "429-long-forever": replies.always(replies.status(_RATE, f"retry-after: {replies.LONG_WAIT}")),
    "429-date": replies.once(replies.date(replies.SHORT_WAIT)),
    "429-long-date": replies.once(replies.date(replies.LONG_WAIT)),
    "429-silent": replies.once(replies.status(_RATE)),
    "429-forever": replies.always(replies.status(_RATE)),
    "500-once": replies.once(replies.status("500 Internal Server Error")),
    "502-once": replies.once(replies.status("502 Bad Gateway")),
    "503-once": replies.once(replies.status("503 Service Unavailable")),
    "529-once": replies.once(replies.status("529 Overloaded")),
    "500-forever": replies.always(replies.status("500 Internal Server Error")),
    "502-forever": replies.always(replies.status("502 Bad Gateway")),
    "503-forever": replies.always(replies.status("503 Service Unavailable")),
    "529-forever": replies.always(replies.status("529 Overloaded")),
    "400": replies.always(replies.status("400 Bad Request")),
    "401": replies.always(replies.status("401 Unauthorized")),
    "404": replies.always(replies.status("404 Not Found")),
    "refused": replies.always(replies.Asked.sound),
    "tls-garbage": replies.always(replies.Asked.sound),
    "redirect-302": replies.always(replies.redirect),
    "redirect-307": replies.always(replies.redirect_again),
    "html-200": replies.always(lambda _: wire.response("200 OK", _PAGE, kind="text/html")),
    "html-500": replies.always(lambda _: wire.response("500 Oops", _PAGE, kind="text/html")),
    "error-body-200": replies.always(replies.body_error("overloaded_error")),
    "rejection-body-200": replies.always(replies.body_error("invalid_request_error")),
    "wrong-content-type": replies.always(replies.other_kind),
    "gzip": replies.always(replies.gzip(b"content-encoding: gzip\r\n")),
    "gzip-unannounced": replies.always(replies.gzip()),
    "hang-headers": replies.hang_headers,
    "hang-stream": replies.hang_stream,
    "hang-error-body": replies.hang_error,
    "drip": replies.drip,
    "comments-only": replies.comments,
    "slow-first-byte": replies.slow,
    "reset-once": replies.reset,
    "cut": replies.cut,
    "second-call-cut": replies.second_cut,
    "no-reason": replies.always(replies.answer(reason=False)),
    "no-end-mark": replies.always(replies.answer(end=False)),
    "error-event-once": replies.event("overloaded_error", times=1),
    "error-event-forever": replies.event("overloaded_error", times=0),
    "no-choice": replies.always(replies.answer(choices=False, text=())),
    "empty-content": replies.always(replies.answer(text=())),
    "think-tags": replies.always(
        replies.answer(text=("<thi", "nk>All may ", "be lost.</th", "ink>", "\n\n", wire.SOUND))
    ),
    "20-mb": replies.huge,
    "large-text": replies.always(
        replies.answer(text=("x" * 40,) * (replies.LARGE_TEXT_BYTES // 160))
    ),
    "5000-calls": replies.calls(lambda asked: tuple(map(asked.save, range(replies.MANY_CALLS)))),
    "malformed-arguments": replies.calls(lambda asked: (asked.save(arguments='{"op": "unfinis'),)),
    "wrong-types": replies.calls(lambda asked: (asked.save(arguments='{"op": 7}'),)),
    "arguments-no-object": replies.calls(lambda asked: (asked.save(arguments="[1]"),)),
    "unknown-tool": replies.calls(lambda _: (Call("store_itme_all", "{}"),)),
    "duplicate-ids": replies.calls(
        lambda asked: (asked.save(0, id="same"), asked.save(1, id="same"))
    ),
    "long-names": replies.calls(
        lambda asked: (asked.save(0, id="i" * 10_000), Call("n" * 10_000, "{}", id="j"))
    ),
    "nul-arguments": replies.calls(
        lambda asked: (asked.save(arguments=json.dumps({"op": f"{asked.case}/0", "pad": "\0"})),)
    ),
    "nan-arguments": replies.calls(lambda asked: (asked.save(arguments='{"op": NaN}'),)),
    "long-int-arguments": replies.calls(
        lambda asked: (asked.save(arguments=f'{{"op": {replies.DIGITS}}}'),)
    ),
    "deep-arguments": replies.calls(lambda asked: (asked.save(arguments=f'{{"op": {_DEEP}}}'),)),
    "invalid-utf8": replies.always(replies.replaced({}, b"well", b"\xff\xfewell")),
    "lone-surrogate": replies.always(replies.answer(text=("a\ud800b", "c\udfff"))),
    "nul": replies.always(replies.answer(text=("a\0b",))),
    "nan": replies.always(
        replies.answer(numbers={"extra": math.nan, "more": math.inf}, usage=(math.nan, 1))
    ),
    "long-int": replies.always(
        replies.replaced({"usage": (123456789, 1)}, b"123456789", replies.DIGITS.encode())
    ),
    "deep-json": replies.always(
        replies.replaced({"usage": (123456789, 1)}, b"123456789", _DEEP.encode())
    ),
    "model-switches": replies.always(replies.answer(models=("a-model", "another", "a-third"))),
    "negative-usage": replies.always(replies.answer(usage=(-5, -7))),
    "absurd-usage": replies.always(replies.answer(usage=(replies.ABSURD, replies.ABSURD))),
    "no-usage": replies.always(replies.answer(usage=None)),
}
