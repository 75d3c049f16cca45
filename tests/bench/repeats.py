"""What was done twice because a worker was killed, judged from what everybody wrote down. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from tests.chaos.records import Asked, Effect


#: A request that was on the wire at the kill is received this long after it at the latest. A
#: recovery takes longer, so what another worker asks is not taken for it.
ON_THE_WIRE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Evidence:
    """The ledgers and the journals of some runs, by the names in their tasks.

    Attributes:
        asked: Requests that the model server received; ``turn`` counts from 1.
        answered: When each (run, turn)'s answer was journaled.
        held: Runs that the killed worker worked on at the kill.
        effects: Calls that the effects server received.
        stored: When each effect's result was journaled, by its ``op``.
    """

    asked: Sequence[Asked]
    answered: Mapping[tuple[str, int], datetime]
    held: frozenset[str]
    effects: Sequence[Effect]
    stored: Mapping[str, datetime]


@dataclass(frozen=True, slots=True)
class Repeats:
    """The counts.

    Attributes:
        in_flight: Model calls of the killed worker that were asked and not journaled at the kill.
        model_calls: Requests beyond the first of their turn.
        answered_again: Those of them that came after the turn's answer was journaled.
        effects: Effects asked for again under another key, or after their result was journaled.
        effects_seen: Effects by name.
        effects_asked_again: Asked again under the same key before their result was journaled,
            which is what the key is for: the service knows it.
    """

    in_flight: int
    model_calls: int
    answered_again: int
    effects: int
    effects_seen: int
    effects_asked_again: int


def judge(evidence: Evidence, *, killed_at: datetime) -> Repeats:
    """Count."""
    asked: dict[tuple[str, int], list[float]] = defaultdict(list)
    for request in evidence.asked:
        asked[request.run, request.turn].append(request.at)
    answered = {key: at.timestamp() for key, at in evidence.answered.items()}
    kill = killed_at.timestamp()
    in_flight = sum(
        key[0] in evidence.held
        and min(moments) <= kill + ON_THE_WIRE_SECONDS
        and kill < answered.get(key, float("inf"))
        for key, moments in asked.items()
    )
    again = [(key, moment) for key, moments in asked.items() for moment in sorted(moments)[1:]]
    after = sum(moment > answered.get(key, float("inf")) for key, moment in again)
    repeated, same_key, seen = _effects(evidence)
    return Repeats(in_flight, len(again), after, repeated, seen, same_key)


def _effects(evidence: Evidence) -> tuple[int, int, int]:
    """Effects repeated, asked for again under their key, and seen at all."""
    by_op: dict[str, list[Effect]] = defaultdict(list)
    for effect in sorted(evidence.effects, key=lambda effect: effect.at):
        by_op[effect.op].append(effect)
    repeated = same_key = 0
    for op, effects in by_op.items():
        first = effects[0]
        stored = evidence.stored.get(op)
        for effect in effects[1:]:
            late = stored is not None and effect.at > stored.timestamp()
            if late or effect.key != first.key or not effect.key:
                repeated += 1
            else:
                same_key += 1
    return repeated, same_key, len(by_op)
