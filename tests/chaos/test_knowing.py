"""The judge of R24 sees what is missing, what is there twice, and what a worker held."""

from __future__ import annotations

from tests.chaos.knowing.judge import differences, held_by
from tests.chaos.records import Event, Run


def test_what_is_missing_and_what_is_too_much_is_counted() -> None:
    assert differences(["a", "b"], ["b", "a"]) == (0, 0)
    assert differences(["a", "b"], ["a", "a", "x"]) == (1, 2)


def test_a_worker_held_what_it_had_begun_and_not_ended() -> None:
    def run(*types: str) -> Run:
        events = [
            Event(seq, kind, float(seq), {"worker": "vm:7"} if kind == "run.started" else {})
            for seq, kind in enumerate(types, 1)
        ]
        return Run(",".join(types), "x", "running", tuple(events), ())

    begun = run("run.created", "run.started", "model.answered")
    back = run("run.created", "run.started", "run.requeued")
    assert held_by([begun, back], 7, 2.5) == (begun.id, back.id)
    assert held_by([begun, back], 7, 3.5) == (begun.id,)
    assert held_by([begun], 8, 2.5) == ()
    assert held_by([begun], 7, 1.5) == ()
