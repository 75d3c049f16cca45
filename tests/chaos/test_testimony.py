"""The reading of testimonies finds a zombie's write; one that finds nothing proves nothing."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.records import Event, Run
from tests.chaos.testimony import Write, stale, unexplained

FIRST = Write(1.0, 1, "claim", "run", 1, 2, accepted=True)
ANSWER = Write(1.5, 1, "record", "run", 1, 3, accepted=True)
SECOND = Write(3.0, 2, "claim", "run", 2, 5, accepted=True)
END = Write(4.0, 2, "finish", "run", 2, 7, accepted=True)
SOUND = (FIRST, ANSWER, SECOND, END)
RUN = Run(
    "run",
    "r",
    "succeeded",
    tuple(
        Event(seq, kind, float(seq), {})
        for seq, kind in enumerate(
            (
                *("run.created", "run.started", "model.answered", "run.requeued"),
                *("run.started", "model.answered", "run.succeeded"),
            ),
            start=1,
        )
    ),
    (),
)


def test_writes_under_the_token_of_their_time_are_sound() -> None:
    assert stale(SOUND) == ([], [])
    assert unexplained([RUN], SOUND) == []


def test_an_accepted_write_behind_a_later_claim_is_stale() -> None:
    zombie = replace(ANSWER, at=3.5, seq=6)
    assert stale((*SOUND, zombie)) == ([zombie], [])


def test_a_refused_write_after_a_later_claim_is_a_zombies() -> None:
    zombie = replace(ANSWER, at=3.5, seq=None, accepted=False)
    assert stale((*SOUND, zombie)) == ([], [zombie])


def test_an_event_that_nobody_testified_is_found() -> None:
    assert len(unexplained([RUN], (FIRST, SECOND, END))) == 1


def test_a_write_whose_answer_was_lost_explains_only_events_of_its_own_token() -> None:
    lost = replace(ANSWER, seq=None, accepted=None)
    assert unexplained([RUN], (FIRST, lost, SECOND, END)) == []
    assert unexplained([RUN], (FIRST, replace(lost, token=2), SECOND, END)) != []
