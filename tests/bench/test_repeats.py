"""What counts as done twice after a kill, judged on records made by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.bench.killed import task
from tests.bench.repeats import Evidence, judge
from tests.chaos.records import Asked, Effect

if TYPE_CHECKING:
    from tests.bench.repeats import Repeats

KILL = 100.0


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _judged(**given: Any) -> Repeats:
    nothing: dict[str, Any] = {"asked": (), "answered": {}, "effects": (), "stored": {}}
    evidence = Evidence(**{**nothing, "held": frozenset({"a"}), **given})
    return judge(evidence, killed_at=_at(KILL))


def test_given_a_call_in_flight_at_the_kill_when_asked_again_then_it_is_allowed() -> None:
    asked = (Asked("a", 1, 99.0), Asked("a", 2, 99.8), Asked("a", 2, 102.0))
    found = _judged(asked=asked, answered={("a", 1): _at(99.5), ("a", 2): _at(102.5)})
    assert (found.in_flight, found.model_calls, found.answered_again) == (1, 1, 0)


def test_given_a_journaled_answer_when_asked_again_then_it_is_a_fault() -> None:
    asked = (Asked("a", 1, 99.0), Asked("a", 1, 102.0))
    found = _judged(asked=asked, answered={("a", 1): _at(99.5)})
    assert (found.in_flight, found.model_calls, found.answered_again) == (0, 1, 1)


def test_given_a_run_of_the_other_worker_then_its_calls_are_not_in_flight_of_the_killed_one() -> (
    None
):
    found = _judged(asked=(Asked("b", 1, 99.8), Asked("b", 1, 102.0)))
    assert (found.in_flight, found.model_calls) == (0, 1)


def test_given_effects_asked_again_then_only_what_the_key_cannot_stop_counts() -> None:
    effects = (
        Effect("store_item", "k1", "within", 99.9),
        Effect("store_item", "k1", "within", 102.0),  # its worker died before it was journaled
        Effect("store_item", "k2", "late", 98.0),
        Effect("store_item", "k2", "late", 102.0),  # after its result was journaled
        Effect("store_item", "k3", "other", 99.0),
        Effect("store_item", "k4", "other", 102.0),  # under another key
        Effect("store_item", "k5", "once", 99.0),
    )
    found = _judged(effects=effects, stored={"late": _at(98.5), "within": _at(102.5)})
    assert (found.effects, found.effects_asked_again, found.effects_seen) == (2, 1, 4)


def test_every_conversation_and_effect_of_a_storm_has_a_name_of_its_own() -> None:
    text = task("w8-1") + task("w8-2")
    for name in ("w8-1", "w8-1/first", "w8-2", "w8-2/third"):
        assert text.count(f"[[run: {name}]]") == 1
    assert text.count('\\"op\\": \\"w8-1/second\\"') == 1
