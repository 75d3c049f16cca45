"""Kinds of wait: what a declaration may say, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from agents.journal import events, waits
from agents.live.agent_view import AgentView
from agents.live.words import say

KINDS = ("child", "timer", "pause", "approval", "outcome", "review", "budget")
ANSWERED = waits.WaitKind("signal", "Signal", "a signal", waits.ANSWER, answer={})


@pytest.mark.parametrize(
    "kind",
    [
        replace(ANSWERED, name="approval"),
        replace(ANSWERED, name=""),
        replace(ANSWERED, name="x" * 17),
        replace(ANSWERED, answer=None),
        replace(ANSWERED, lane="pause"),
        replace(ANSWERED, answered_by="", answer=None),
    ],
    ids=["taken", "nameless", "long", "no schema", "another lane", "nobody's lane"],
)
def test_a_declaration_that_contradicts_itself_is_refused(kind: waits.WaitKind) -> None:
    with pytest.raises(ValueError, match="kind"):
        waits.register(kind)


def test_the_row_says_whether_a_person_is_asked() -> None:
    asked = {kind.name for kind in map(waits.kind_of, KINDS) if kind.row("k")["asks_person"]}
    assert asked == {"approval", "outcome", "review", "budget"}


def test_a_tool_may_wait_for_what_no_other_event_opens() -> None:
    assert [name for name in KINDS if waits.is_for_tools(name)] == ["child"]
    opening = {kind.type for kind in events.Opening.__args__}
    assert {waits.kind_of(name).opened_by for name in KINDS} == {*opening, waits.BY_TOOL}
    assert not waits.is_for_tools("semaphore"), "nobody has declared it"


def test_a_kind_of_a_newer_heartbit_is_shown_by_its_name() -> None:
    assert (waits.kind_of("barrier").label, waits.kind_of("barrier").asks_person) == (
        "barrier",
        False,
    )


def test_a_journal_that_names_no_kinds_is_still_read() -> None:
    run = AgentView(UUID(int=1), None, "writer", "Do")
    before = (
        events.decode("run.created", {"task": "Do", "agent": "writer"}),
        events.decode("call.waiting", {"call_id": "1.0", "keys": ["child:0199"]}),
        events.decode("wait.resolved", {"key": "child:0199", "value": {"status": "succeeded"}}),
    )
    lanes = []
    for seq, event in enumerate(before, 1):
        run.fold(events.RecordedEvent(seq, datetime(2026, 1, 1, tzinfo=UTC), event))
        lanes.append([wait["kind"] for wait in run.waits.values()])
    assert lanes == [[], ["agents"], []]
    assert (run.status, say(before[2], str).title) == ("queued", "succeeded")
