"""What counts as done twice or in doubt after a kill, judged on records made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.bench.killed import name_of, task
from tests.bench.repeats import Begun, Evidence, judge
from tests.chaos.records import Asked

if TYPE_CHECKING:
    from tests.bench.repeats import Repeats

KILL = 100.0
VICTIM, OTHER = 7, 8


def _judged(**given: Any) -> Repeats:
    nothing: dict[str, Any] = {"asked": (), "answered": {}, "begun": ()}
    return judge(Evidence(**{**nothing, **given}), killed_at=KILL, pid=VICTIM)


def test_given_a_call_that_was_cut_off_when_asked_again_then_it_is_repeated() -> None:
    asked = (Asked("a", 1, 99.0), Asked("a", 2, 99.8), Asked("a", 2, 102.0))
    found = _judged(asked=asked, answered={("a", 1): 99.5, ("a", 2): 102.5})
    assert (found.model_calls, found.answered_again) == (1, 0)


def test_given_a_journaled_answer_when_asked_again_then_it_is_a_fault() -> None:
    asked = (Asked("a", 1, 99.0), Asked("a", 1, 102.0))
    found = _judged(asked=asked, answered={("a", 1): 99.5})
    assert (found.model_calls, found.answered_again) == (1, 1)


def test_given_a_tool_body_that_began_twice_then_its_effect_is_repeated() -> None:
    begun = (Begun("x", 99.0, VICTIM), Begun("x", 103.0, OTHER), Begun("y", 103.0, OTHER))
    assert _judged(begun=begun).effects == 1


def test_given_bodies_just_before_the_kill_then_those_of_the_killed_worker_count() -> None:
    begun = (
        Begun("long ago", 99.94, VICTIM),
        Begun("recent", 99.96, VICTIM),
        Begun("on its way", 100.001, VICTIM),
        Begun("elsewhere", 99.99, OTHER),
    )
    assert _judged(begun=begun).recent == 2


def test_the_calls_of_a_task_have_names_of_their_own() -> None:
    assert name_of(task("w8-1")) == "w8-1"
    assert task("w8-1").count("[[run: w8-1/") == 3
    assert "w8-1/second" in task("w8-1")
