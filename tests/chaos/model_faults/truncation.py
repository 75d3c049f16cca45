"""The sweep: the connection ends at each byte of an answer, and only the whole answer counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.chaos.model_faults import wire
from tests.chaos.model_faults.modes import CUT
from tests.chaos.model_faults.replies import Asked, cut_answer
from tests.chaos.model_faults.wire import DIALECTS, Dialect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.chaos.model_faults.mode import Mode

KINDS = ("text", "calls")
#: Events after the one that says why the answer ends: they may be missing.
END_EVENTS: dict[Dialect, int] = {"openai": 2, "anthropic": 1}


@dataclass(frozen=True, slots=True)
class Cut:
    """One run of the sweep: its answer is cut at each of some offsets, then it comes whole."""

    mode: Mode
    dialect: Dialect
    detail: str
    offsets: int


def cuts(step: int, together: int) -> Iterator[Cut]:
    """Every ``step``-th offset of a text and of tool calls, in both dialects.

    Args:
        step: Bytes between two cuts.
        together: How many cuts one run gets, one after the other.
    """
    for dialect in DIALECTS:
        for kind in KINDS:
            sizes = _sizes(dialect, kind)
            size, safe = sum(sizes), sum(sizes[: -END_EVENTS[dialect]])
            offsets = range(0, safe, step)
            for first in range(0, len(offsets), together):
                yield _cut(dialect, kind, offsets[first : first + together], whole=False)
            for offset in range(safe, size):
                yield _cut(dialect, kind, [offset], whole=True)


def _sizes(dialect: Dialect, kind: str) -> list[int]:
    """Bytes of the answer's events; what a case is called does not change them."""
    asked = Asked(dialect, "", "", 1, "")
    return list(map(len, wire.events(dialect, cut_answer(asked, kind))))


def _cut(dialect: Dialect, kind: str, offsets: Sequence[int], *, whole: bool) -> Cut:
    """Return what is expected of a cut; if the answer is whole by then, success or a retry."""
    tools = kind == "calls"
    text = "".join(cut_answer(Asked(dialect, "", "", 1, ""), "text").text)
    mode = replace(
        CUT,
        sees="Done." if tools else text,
        effects=3 if tools else 0,
        calls=None if whole else len(offsets) + 1 + tools,
        attempts=len(offsets),
    )
    return Cut(mode, dialect, f"{kind}@{'.'.join(map(str, offsets))}", len(offsets))
