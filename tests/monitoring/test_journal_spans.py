"""Each span of a journal is exported by one slice, whatever ended the slices before it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agents.tracing.spans import JournalEvent, TracedRun, journal_spans

COLUMNS: dict[str, Any] = {"kind": "agent", "agent": "solo", "queue": "q", "workspace_id": 1}
RUN = TracedRun("ab" * 16, "cd" * 8, "r", is_child=False, **COLUMNS)
STARTED: tuple[str, dict[str, Any]] = ("run.started", {})
ANSWER: dict[str, Any] = {"turn": 1, "model": "openai:m", "usage": {}, "message": {}}
WAITING = {"call_id": "1.0", "keys": ["delay:1.0"], "runs": [], "kind": "delay"}
JOURNAL: list[tuple[str, dict[str, Any]]] = [
    ("run.created", {}),
    STARTED,
    ("model.answered", ANSWER),
    ("call.waiting", WAITING),  # the slice suspends the run
    ("wait.resolved", {"key": "delay:1.0"}),
    STARTED,  # 6
    ("tool.finished", {"call_id": "1.0", "status": "ok"}),
    ("model.answered", ANSWER | {"turn": 2}),
    ("run.requeued", {"reason": "worker lost"}),
    STARTED,  # 10
    ("model.answered", ANSWER | {"turn": 3}),
    ("run.requeued", {"reason": "slice was long enough"}),
    STARTED,  # 13
    ("run.succeeded", {}),
]


def events(journal: list[tuple[str, dict[str, Any]]]) -> list[JournalEvent]:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        JournalEvent(seq, begin + timedelta(seconds=seq), kind, payload)
        for seq, (kind, payload) in enumerate(journal, 1)
    ]


def exported(
    slices: list[tuple[int, int]], journal: list[tuple[str, dict[str, Any]]] = JOURNAL
) -> list[Any]:
    return [
        span
        for started, last in slices
        for span in journal_spans(RUN, events(journal), started_seq=started, last_seq=last)
    ]


def test_given_a_lost_slice_then_the_next_exports_what_it_had_not() -> None:
    spans = exported([(2, 4), (10, 12), (13, 14)])
    assert max(Counter(span.id for span in spans).values()) == 1
    found = Counter(span.name for span in spans)
    assert found == {
        "process q": 4,
        "slice": 4,
        "chat m": 3,
        "execute_tool tool": 1,
        "wait for delay": 1,
        "invoke_agent solo": 1,
    }
    assert [span.error for span in spans if span.name == "slice"] == ["", "worker_lost", "", ""]


def test_given_a_later_event_then_a_late_export_leaves_it_to_the_next_slice() -> None:
    early = exported([(2, 4)])
    assert {span.name for span in early} == {"process q", "slice", "chat m"}
    assert early == exported([(2, 4)], JOURNAL[:4])


@pytest.mark.parametrize("ending", ["run.cancelled", "run.discarded"])
def test_given_an_end_while_the_run_waits_then_it_is_exported_once(ending: str) -> None:
    journal = [*JOURNAL[:4], (ending, {})]
    [run] = exported([(0, 5)], journal)
    assert (run.name, run.error) == ("invoke_agent solo", ending.removeprefix("run."))
    assert (run.parent, run.trace_id) == ("cd" * 8, "ab" * 16)


def test_given_a_quarantine_then_it_is_exported_once_and_so_is_what_follows() -> None:
    crashed = [*JOURNAL[:3], ("run.requeued", {"reason": "worker lost"}), STARTED]
    journal = [*crashed, ("run.quarantined", {"attempts": 2})]
    found = exported([(0, 6)], journal)
    assert Counter(span.name for span in found) == {
        "process q": 2,
        "slice": 2,
        "chat m": 1,
        "invoke_agent solo": 1,
    }
    assert {span.error for span in found if span.name == "slice"} == {"worker_lost"}
    [discarded] = exported([(0, 7)], [*journal, ("run.discarded", {})])
    assert discarded.attributes["heartbit.run.status"] == "discarded"
    [run] = [span for span in found if span.name == "invoke_agent solo"]
    assert discarded.parent == run.id
    revived = [*journal, ("run.unquarantined", {}), STARTED, ("run.succeeded", {})]
    again = exported([(8, 9)], revived)
    assert Counter(span.name for span in again) == {
        "process q": 1,
        "slice": 1,
        "invoke_agent solo": 1,
    }


def test_given_events_of_a_newer_heartbit_then_they_are_skipped() -> None:
    journal = [*JOURNAL[:3], ("run.dreamt", {"anything": 1}), ("run.succeeded", {})]
    assert "invoke_agent solo" in {span.name for span in exported([(2, 5)], journal)}
