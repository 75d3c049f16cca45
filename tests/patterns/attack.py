"""Adversarial texts against patterns, each within a limit of processor time.

A program of its own, since a pattern that blows up holds the interpreter: patterns in, the slow
ones out, as JSON.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memory.knowledge.readers.pdf import _place_of
from tests.pace import slowness
from tests.patterns.inputs import hostile
from tools.mail.html_text import text_of_html
from tools.mail.parts import _split

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Caller:
    """A function that uses an expression which is not attacked itself.

    Attributes:
        reason: Why the function takes linear time all the same.
        pattern: Expression that texts are made for.
        call: The function, with the text of others.
    """

    reason: str
    pattern: re.Pattern[Any]
    call: Callable[[Any], object]


CALLERS: Final = {
    "tools.mail.html_text._TAG_END": Caller(
        "once a quote stays open, no second search for the end of a tag is made",
        re.compile("""<a ([^>"']+|"[^"]*"|'[^']*')*>"""),
        text_of_html,
    ),
    "tools.mail.parts:_split": Caller(
        "made of a boundary, which has 200 characters at most and no line's end",
        re.compile(rb"\n--=_=_=_(--)?[ \t]*\r\n"),
        lambda content: list(_split(content, "=_" * 100)),
    ),
    "memory.knowledge.readers.pdf:_place_of": Caller(
        "made of a heading of 300 characters at most, which is compared once a line",
        re.compile(r"(?m)^[\W\d]*a\s+b\s*$"),
        lambda text: _place_of("a " * 149 + "b", text),
    ),
}

#: Characters of the quick look, and its limit: a quadratic search takes thrice as long.
SHORT, SHORT_SECONDS = 1_500, 0.0002
#: Characters of the second look, at whatever was slow in the first, and its limit.
LONG, LONG_SECONDS = 100_000, 0.25
#: Functions in Python take longer for each character.
CALLER_SECONDS = 0.005
#: Looks at the long text: the processor may have been slow during one, not during each.
LOOKS = 2


class _Slow(Exception):
    pass


def _stop(*_: object) -> None:
    raise _Slow


def is_slow(call: Callable[[], object], limit: float) -> bool:
    """Return True if a call takes more seconds; of the processor, where it has to be interrupted.

    A short call is measured by the clock: what interrupts it costs no more than a second look.
    The limit is longer on a slow processor.
    """
    longest = LONG_SECONDS * slowness()
    began = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_PROF, longest)
        try:
            call()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except _Slow:
        return True
    return limit < LONG_SECONDS and time.perf_counter() - began > limit * slowness()


def _drive(pattern: re.Pattern[Any], method: str, text: str | bytes) -> None:
    if method == "fullmatch":
        pattern.fullmatch(text)
    elif method == "match":
        pattern.match(text)
    else:
        pattern.sub(text[:0], text)  # searches on and on, as finditer does


def slow_text(
    pattern: re.Pattern[Any], call: Callable[[Any], object], short_seconds: float
) -> str | None:
    """Return the text, shortened, of which a call takes more than linear time; None: of none."""
    for recipe in hostile(pattern):
        if is_slow(partial(call, recipe.text(pattern, SHORT)), short_seconds) and all(
            is_slow(partial(call, recipe.text(pattern, LONG)), LONG_SECONDS) for _ in range(LOOKS)
        ):
            return f"{recipe.head!r} and {recipe.unit!r} many times"
    return None


def _slow(asked: dict[str, Any]) -> str | None:
    if asked["name"] in CALLERS:
        caller = CALLERS[asked["name"]]
        return slow_text(caller.pattern, caller.call, CALLER_SECONDS)
    source = asked["pattern"]
    pattern = re.compile(source.encode("latin-1") if asked["bytes"] else source, asked["flags"])
    found = (
        slow_text(pattern, partial(_drive, pattern, method), SHORT_SECONDS)
        for method in asked["methods"]
    )
    return next(filter(None, found), None)


def main() -> None:
    """Read patterns from standard input, and write those that are slow."""
    signal.signal(signal.SIGPROF, _stop)
    slow = {asked["name"]: _slow(asked) for asked in json.load(sys.stdin)}
    json.dump({name: text for name, text in slow.items() if text is not None}, sys.stdout)


if __name__ == "__main__":
    main()
