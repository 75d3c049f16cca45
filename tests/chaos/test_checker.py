"""The checker finds what was planted: a checker that passes everything proves nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.checker import check
from tests.chaos.records import Asked, Call, Decided, Effect, Event, Kill, Records, Run

STARTED = Event(2, "run.started", 1.0, {"worker": "vm:1"})
KEY = "run:1.0"


def answered(seq: int, turn: int, at: float) -> Event:
    return Event(seq, "model.answered", at, {"turn": turn})


def finished(seq: int, at: float, status: str = "ok") -> Event:
    return Event(seq, "tool.finished", at, {"call_id": "1.0", "status": status})


def sound() -> Records:
    """One run whose worker died once, between its two turns, after its one effect."""
    run = Run(
        id="run",
        name="r",
        status="succeeded",
        events=(
            Event(1, "run.created", 0.5, {}),
            STARTED,
            answered(3, 1, 2.0),
            Event(4, "tool.started", 2.1, {"call_id": "1.0"}),
            finished(5, 2.5),
            Event(6, "run.requeued", 5.0, {"reason": "worker lost"}),
            replace(STARTED, seq=7, at=5.5),
            answered(8, 2, 7.0),
            Event(9, "run.succeeded", 7.0, {}),
        ),
        calls=(Call("1.0", "http_request", "at_most_once", "ok", "r/0"),),
    )
    return Records(
        runs=(run,),
        asked=(Asked("r", 1, 1.1), Asked("r", 2, 2.6), Asked("r", 2, 5.6)),
        effects=(Effect("send", KEY, "r/0", 2.2),),
        kills=(Kill(4.0, "0:1", ("run",)),),
    )


def with_run(records: Records, run: Run) -> Records:
    return replace(records, runs=(run,))


def test_what_was_promised_passes() -> None:
    verdict = check(sound())
    assert not verdict.faults
    assert not verdict.invalid
    assert verdict.repeated_in_flight == 1
    assert verdict.recoveries == [1.5]


def test_a_model_call_repeated_after_its_answer_is_found() -> None:
    records = sound()
    verdict = check(replace(records, asked=(*records.asked, Asked("r", 1, 5.7))))
    assert verdict.repeated == 1
    assert verdict.faults


def test_a_model_call_repeated_without_a_kill_is_found() -> None:
    records = sound()
    verdict = check(replace(records, kills=(Kill(4.0, "0:1", ("another",)),)))
    assert verdict.repeated == 1


def test_a_model_call_begun_by_a_worker_that_leaves_is_in_flight() -> None:
    records = sound()
    verdict = check(replace(records, kills=(Kill(2.0, "0:1", ("run",)),)))
    assert verdict.repeated == 1, "it was killed before either call"
    verdict = check(replace(records, kills=(Kill(2.0, "0:1", ("run",), until=4.0),)))
    assert (verdict.repeated, verdict.repeated_in_flight) == (0, 1)


def test_a_doubled_at_most_once_effect_is_found() -> None:
    records = sound()
    verdict = check(replace(records, effects=records.effects * 2))
    assert verdict.doubled == 1
    assert verdict.faults


def test_a_lost_run_is_found() -> None:
    records = sound()
    (run,) = records.runs
    verdict = check(with_run(records, replace(run, status="queued", events=run.events[:-1])))
    assert verdict.lost == 1
    assert verdict.faults


@pytest.mark.parametrize("keys", [("run:1.0", "run:1.1"), ("run:1.0", "run:1.0")])
def test_an_idempotent_effect_may_only_repeat_with_its_key_after_a_kill(
    keys: tuple[str, str],
) -> None:
    records = sound()
    (run,) = records.runs
    call = replace(run.calls[0], effect="idempotent")
    effects = (Effect("send", keys[0], "r/0", 2.2), Effect("send", keys[1], "r/0", 5.6))
    verdict = check(replace(with_run(records, replace(run, calls=(call,))), effects=effects))
    assert verdict.doubled == (keys[0] != keys[1])
    assert verdict.repeats_with_key == 1


def test_an_uncertain_call_that_no_kill_explains_is_found() -> None:
    records = sound()
    (run,) = records.runs
    call = replace(run.calls[0], status="uncertain")
    verdict = check(with_run(records, replace(run, calls=(call,))))
    assert verdict.uncertain == 1
    assert verdict.faults


def test_a_call_left_open_in_an_ended_run_is_found() -> None:
    records = sound()
    (run,) = records.runs
    call = replace(run.calls[0], status="started")
    assert check(with_run(records, replace(run, calls=(call,)))).faults


def test_a_result_without_its_effect_is_found() -> None:
    assert check(replace(sound(), effects=())).faults


def test_a_gap_in_a_journal_is_found() -> None:
    records = sound()
    (run,) = records.runs
    events = (*run.events[:4], *run.events[5:])
    assert check(with_run(records, replace(run, events=events))).faults


def test_kills_that_hit_nobody_prove_nothing() -> None:
    records = sound()
    assert check(replace(records, kills=())).invalid
    assert check(replace(records, missed_windows=1)).invalid


def approved(verdict: str = "approved", op: str = "r/0", at: float = 2.0) -> Decided:
    return Decided("run", "1.0", verdict, op, at)


def guarded(status: str = "ok", **changes: Any) -> Records:
    """The sound run, of an agent that asks; its call was approved."""
    records = sound()
    (run,) = records.runs
    calls = (replace(run.calls[0], guarded=True, status=status),)
    decided: dict[str, Any] = {"decided": (approved(),)}
    return replace(records, runs=(replace(run, calls=calls),), **(decided | changes))


def effect(op: str = "r/0", at: float = 2.2) -> tuple[Effect, ...]:
    return (Effect("send", KEY, op, at),)


@pytest.mark.parametrize(
    "records",
    [
        guarded(),
        guarded(decided=(approved("edited", "r/0~edited"),), effects=effect("r/0~edited")),
        guarded("refused", decided=(approved("denied", ""),), effects=()),
    ],
    ids=["approved", "edited", "denied"],
)
def test_a_call_that_follows_its_decision_passes(records: Records) -> None:
    verdict = check(records)
    assert (verdict.decided, verdict.unapproved, verdict.faults) == (1, 0, [])
    assert not verdict.invalid


@pytest.mark.parametrize(
    ("records", "fault"),
    [
        (guarded(decided=()), "executed without a decision"),
        (guarded("refused", decided=()), "executed without a decision"),
        (guarded(decided=(approved("denied", ""),)), "although it was denied"),
        (guarded(decided=(approved("denied", ""),), effects=()), "although it was denied"),
        (guarded(decided=(approved("edited", "r/0~edited"),)), "as r/0, not as r/0~edited"),
        (guarded(effects=effect("r/0~edited")), "as r/0~edited, not as r/0"),
        (guarded(effects=effect(at=1.9)), "before it was decided"),
        (guarded("refused", effects=()), "refused although it was approved"),
        (guarded("cancelled", effects=()), "cancelled although it was approved"),
        (guarded(decided=(approved(), approved("denied", ""))), "decided 2 times"),
    ],
)
def test_a_call_that_does_not_follow_its_decision_is_found(records: Records, fault: str) -> None:
    verdict = check(records)
    assert verdict.unapproved >= 1
    assert any(fault in found for found in verdict.faults), verdict.faults


def test_an_unguarded_call_with_other_arguments_or_a_decision_is_found() -> None:
    assert check(replace(sound(), effects=effect("r/0~edited"))).unapproved == 1
    assert check(replace(sound(), decided=(approved(),))).unapproved == 1


def test_approvals_that_nobody_decided_prove_nothing() -> None:
    assert check(guarded("pending", decided=(), effects=())).invalid
