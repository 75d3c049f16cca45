"""What was done twice, or is in doubt, because a worker was killed. Judged from ledgers. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.chaos.records import Asked

#: Bodies begun so long before the kill may not have had the time to be journaled.
RECENT_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Begun:
    """A tool body that began, as it wrote down itself in the outside ledger."""

    op: str
    at: float
    pid: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What everybody wrote down of some runs, by the names in their tasks.

    Attributes:
        asked: Requests that the model server received; ``turn`` counts from 1.
        answered: When each (run, turn)'s answer was journaled, in seconds since 1970.
        begun: Tool bodies that began; ``op`` is once per script.
    """

    asked: Sequence[Asked]
    answered: Mapping[tuple[str, int], float]
    begun: Sequence[Begun]


@dataclass(frozen=True, slots=True)
class Repeats:
    """The counts.

    Attributes:
        model_calls: Requests beyond the first of their turn.
        answered_again: Those of them that came after the turn's answer was journaled.
        effects: Tool bodies begun beyond the first of their ``op``.
        recent: Tool bodies that the killed worker began just before the kill.
    """

    model_calls: int
    answered_again: int
    effects: int
    recent: int


def judge(evidence: Evidence, *, killed_at: float, pid: int) -> Repeats:
    """Count."""
    asked: dict[tuple[str, int], list[float]] = defaultdict(list)
    for request in evidence.asked:
        asked[request.run, request.turn].append(request.at)
    again = [(key, moment) for key, moments in asked.items() for moment in sorted(moments)[1:]]
    late = sum(moment > evidence.answered.get(key, float("inf")) for key, moment in again)
    begun = Counter(body.op for body in evidence.begun)
    recent = sum(
        body.pid == pid and body.at > killed_at - RECENT_SECONDS for body in evidence.begun
    )
    return Repeats(len(again), late, begun.total() - len(begun), recent)
