"""Every fault of a model provider, and what the run has to do: tests and document read it. Pure."""

from __future__ import annotations

from tests.chaos.model_faults.mode import (
    ALL,
    ANSWER,
    ONCE,
    Mode,
    endless,
    final,
    lasting,
    odd,
    passing,
    served,
    unserved,
)

SHORT_WAIT, LONG_WAIT = 5.0, 12.0
WHERE = "MODEL at HOST"
SAID = "so says the provider"
_RATE = f"{WHERE} limits the rate of requests ({SAID}); "
_ENDED = f"{WHERE} ended its stream in the middle of the answer; try again."
_NO_JSON = (
    f"{WHERE} sent an event that is not JSON; try again, and if it persists, check that the base "
    "URL is the API's and not a web page's."
)
_NO_STREAM = (
    f"{WHERE} answered with {{}} instead of an event stream; check that the base URL is the API's "
    "and not a web page's."
)
_ELSEWHERE = f"{WHERE} answered HTTP {{}} instead of a model's answer; check the base URL."
_UNREADABLE = "The arguments of store_item could not be parsed. "


def _overloaded(status: int, detail: str = SAID) -> str:
    return f"{WHERE} failed or is overloaded, HTTP {status} ({detail}); try again later."


MODES: tuple[Mode, ...] = (
    # What the provider refuses.
    Mode(
        name="429-seconds",
        fault="429, Retry-After: 5",
        does="waits 5 s in its worker and tries again",
        sees=ANSWER,
        retried=ONCE,
        calls=2,
        wait=SHORT_WAIT,
    ),
    Mode(
        name="429-date",
        fault="429, Retry-After: a date in 5 s",
        does="waits until then in its worker and tries again",
        sees=ANSWER,
        retried=ONCE,
        calls=2,
        wait=SHORT_WAIT,
    ),
    Mode(
        name="429-long",
        fault="429, Retry-After: 12",
        does="is `waiting` without a worker for 12 s, then tries again",
        sees=ANSWER,
        retried=ONCE,
        calls=2,
        wait=LONG_WAIT,
        suspended=True,
    ),
    Mode(
        name="429-long-date",
        fault="429, Retry-After: a date in 12 s",
        does="is `waiting` without a worker until then, then tries again",
        sees=ANSWER,
        retried=ONCE,
        calls=2,
        wait=LONG_WAIT,
        suspended=True,
    ),
    Mode(
        name="429-long-forever",
        fault="429, Retry-After: 12, each time",
        does="waits without a worker each time, then fails",
        sees=f"{_RATE}try again in 12 seconds.",
        retried=ALL,
        ends="failed",
        kind="model",
        calls=2,
        wait=LONG_WAIT,
        suspended=True,
        attempts=1,
    ),
    passing("429-silent", "429 without Retry-After, once"),
    lasting("429-forever", "429 without Retry-After, each time", f"{_RATE}try again later."),
    passing("500-once", "500 once"),
    passing("502-once", "502 once"),
    passing("503-once", "503 once"),
    passing("529-once", "529 once"),
    lasting("500-forever", "500 each time", _overloaded(500)),
    lasting("502-forever", "502 each time", _overloaded(502)),
    lasting("503-forever", "503 each time", _overloaded(503)),
    lasting("529-forever", "529 each time", _overloaded(529)),
    final(
        "400",
        "400",
        f"{WHERE} rejected the request with HTTP 400 ({SAID}); repeating it cannot help.",
    ),
    final(
        "401",
        "401",
        f"{WHERE} refused the key with HTTP 401 ({SAID}); check KEY and that the key may use this "
        "model.",
    ),
    final(
        "404",
        "404",
        f"{WHERE} answered HTTP 404 ({SAID}); check the model's name and the base URL.",
    ),
    # What is no model provider at all.
    lasting(
        "refused",
        "nothing listens there",
        f"{WHERE} could not be reached (REASON); check that the server runs and that the base URL "
        "is right.",
        where="closed",
    ),
    lasting(
        "tls-garbage",
        "garbage instead of TLS",
        f"{WHERE} could not be reached (REASON); check that the server runs and that the base URL "
        "is right.",
        where="garbage",
    ),
    final("redirect-302", "302 to another host, which is not followed", _ELSEWHERE.format(302)),
    final("redirect-307", "307 to another host, which is not followed", _ELSEWHERE.format(307)),
    lasting("html-200", "an HTML page with 200", _NO_STREAM.format("text/html")),
    lasting("html-500", "an HTML page with 500", _overloaded(500, 'an HTML page titled "Welcome"')),
    lasting("error-body-200", "200 with an overload error as JSON", _overloaded(529)),
    final(
        "rejection-body-200",
        "200 with a rejection as JSON",
        f"{WHERE} rejected the request with HTTP 400 ({SAID}); repeating it cannot help.",
    ),
    lasting("wrong-content-type", "a stream called text/plain", _NO_STREAM.format("text/plain")),
    lasting(
        "gzip",
        "a compressed stream, although identity was asked for",
        f"{WHERE} compressed its stream with gzip although plain bytes were asked for; turn "
        "compression off in the proxy in front of it.",
    ),
    lasting("gzip-unannounced", "a compressed stream that does not say so", _ENDED),
    # Silence.
    endless("hang-headers", "not one byte of an answer"),
    endless("hang-stream", "silence in the middle of the answer"),
    endless("drip", "one byte a second"),
    endless("comments-only", "a stream of comments that never ends"),
    Mode(
        name="hang-error-body",
        fault="500 whose page hangs in the middle",
        does="reads at most 5 s of the page, then fails",
        sees=_overloaded(500, "an HTML page"),
        retried=ALL,
        ends="failed",
        kind="model",
        attempts=0,
    ),
    odd("slow-first-byte", "12 s of silence before a sound answer", "waits for it"),
    # Streams that break off.
    passing("reset-once", "the connection is reset in the middle of the answer, once"),
    served(
        "second-call-cut",
        "the connection ends in the middle of the second of two tool calls, once",
        "runs neither, asks again, and runs both once",
        effects=2,
        calls=3,
    ),
    lasting("no-reason", "a stream that does not say why its answer ends", _ENDED),
    odd("no-end-mark", "a stream that ends right after it has said that", "keeps the answer"),
    passing("error-event-once", "an overload event in the middle of a 200 stream, once"),
    lasting("error-event-forever", "an overload event in the middle, each time", _overloaded(529)),
    lasting("no-choice", "a stream that ends without any answer", _ENDED),
    Mode(
        name="empty-content",
        fault="a complete answer without a word, each time",
        does="asks the model for an answer twice, then fails",
        sees="The model of faulty gave 3 empty answers in a row (finish reason: stop): ask "
        "differently, or choose another model.",
        retried="nothing: the model is asked for an answer",
        ends="failed",
        kind="model",
        calls=3,
        answers=3,
    ),
    odd("think-tags", "thoughts in the text, in `<think>` tags", "drops the thoughts"),
    # Too much.
    final(
        "20-mb",
        "20 MB of text",
        f"{WHERE} sent more than 8388608 bytes for one answer, which is the limit; ask for less or "
        "lower max_tokens.",
    ),
    odd("large-text", "4 MB in 25,000 pieces", "keeps the answer", sees="x" * 1_000_000),
    served(
        "5000-calls",
        "5,000 tool calls in one answer",
        "runs the first 64 and refuses the others",
        effects=64,
    ),
    # Tool calls that are none.
    unserved(
        "malformed-arguments",
        "arguments that are not JSON",
        f"{_UNREADABLE}The JSON is malformed at line 1, column 8: Unterminated string starting at. "
        "Send one JSON object.",
    ),
    unserved(
        "wrong-types",
        "arguments of the wrong type",
        "The arguments of store_item are not valid; it was not called.\n"
        "- op: 7 is not of type string",
    ),
    unserved(
        "arguments-no-object",
        "arguments that are a list",
        f"{_UNREADABLE}The JSON is not an object. Send one JSON object.",
    ),
    unserved(
        "unknown-tool",
        "a tool that does not exist",
        "There is no tool 'store_itme_all'. The closest are: store_item.",
    ),
    served(
        "duplicate-ids",
        "two tool calls with the same id",
        "runs both once: Heartbit gives its own ids",
        effects=2,
    ),
    served(
        "long-names",
        "a call id and a tool name of 10,000 characters",
        "runs the first, refuses the second",
        effects=1,
    ),
    served(
        "nul-arguments",
        r"\u0000 in arguments",
        "replaces it by U+FFFD and runs the tool",
        effects=1,
    ),
    unserved(
        "nan-arguments",
        "NaN in arguments",
        f"{_UNREADABLE}The JSON contains NaN, which JSON does not have: use null. Send one JSON "
        "object.",
    ),
    unserved(
        "long-int-arguments",
        "a number of 5,000 digits in arguments",
        f"{_UNREADABLE}The JSON has a whole number beyond 64 bits ({'9' * 24}...): send it as a "
        "string. Send one JSON object.",
    ),
    unserved(
        "deep-arguments",
        "arguments nested 100,000 deep",
        f"{_UNREADABLE}The JSON is nested too deeply: at most 64 levels are accepted. Send one "
        "JSON object.",
    ),
    # Values that databases refuse.
    odd(
        "invalid-utf8",
        "bytes that are not UTF-8",
        "replaces them by U+FFFD",
        sees="All is \ufffd\ufffdwell.",
    ),
    odd("lone-surrogate", "halves of an emoji", "replaces them by U+FFFD", sees="a\ufffdbc\ufffd"),
    odd("nul", r"\u0000 in the text", "replaces it by U+FFFD", sees="a\ufffdb"),
    odd("nan", "NaN and Infinity in the usage", "counts them as nothing"),
    lasting("long-int", "a number of 5,000 digits in an event", _NO_JSON),
    final(
        "deep-json",
        "an event nested 100,000 deep",
        f"{WHERE} sent an event with more than 100000 values, which is the limit; check that the "
        "base URL is the API's.",
    ),
    odd("model-switches", "another model's name in the middle", "keeps the name it asked for"),
    odd("negative-usage", "negative token counts", "counts them as nothing"),
    odd("absurd-usage", "10^4000 tokens", "counts as many as the ledger holds"),
    odd("no-usage", "no token counts", "estimates them"),
)
BY_NAME = {mode.name: mode for mode in MODES}

CUT = Mode(
    name="cut",
    fault="the connection ends at any byte of the answer, once",
    does="asks again; the journal holds the whole answer, once",
    sees="the whole answer",
    retried="the call, from its beginning, unless it was known why the answer ends",
    calls=None,
)
