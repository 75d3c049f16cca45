"""The view of a run: whoever comes at any place of a journal ends up with the same."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from agents.journal import events
from agents.journal.events import RecordedEvent
from agents.live.agent_view import AgentView
from agents.live.words import say
from agents.llm.messages import AssistantMessage, Thinking, ToolCall, Usage
from agents.runs.live_entries import Delta
from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.records import Activation, NodeError, NodeMessage
from tests.chaos.replay import kept

if TYPE_CHECKING:
    from collections.abc import Iterable

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
RECORDED = list(kept.load())
ASKED = events.ApprovalRequested("1.0", "send", {"to": "all"}, "pure", "d", "It asks.")


def view() -> AgentView:
    return AgentView(UUID(int=1), None, "writer", "Do")


def merged(parts: dict[str, Any], changes: Iterable[dict[str, Any] | None]) -> dict[str, Any]:
    """What a page has that had ``parts`` and was sent ``changes``."""
    found = dict(parts)
    for change in changes:
        for name, part in (change or {}).items():
            if part is None:
                found.pop(name, None)
            else:
                found[name] = part
    return found


def at_its_end(journal: Iterable[RecordedEvent]) -> dict[str, Any]:
    whole = view()
    for recorded in journal:
        whole.fold(recorded)
    return whole.snapshot()


def check(journal: list[RecordedEvent]) -> None:
    """At each place of a journal: the view there and what follows are the view at the end."""
    whole = at_its_end(journal)
    first = view()
    changes = [json.dumps(first.fold(recorded)) for recorded in journal]
    later = view()
    for place in range(len(journal) + 1):
        follows = [json.loads(change) for change in changes[place:]]
        assert merged(later.snapshot(), follows) == json.loads(json.dumps(whole)), place
        if place < len(journal):
            later.fold(journal[place])


@pytest.mark.parametrize("run", RECORDED, ids=lambda run: f"{run.shape}-{run.id[:13]}")
def test_a_snapshot_and_the_events_after_it_are_a_fresh_snapshot(run: kept.Kept) -> None:
    journal = run.journal()
    check(journal)
    for recorded in journal:
        assert say(recorded.event, str).title != recorded.event.type, "it has words"


def recorded(*happened: tuple[float, events.Event]) -> list[RecordedEvent]:
    return [
        RecordedEvent(number, START + timedelta(seconds=after), event)
        for number, (after, event) in enumerate(happened, start=1)
    ]


def answered(turn: int, *tools: str, thinking: tuple[Thinking, ...] = ()) -> events.ModelAnswered:
    calls = tuple(ToolCall(f"c{index}", tool, "{}") for index, tool in enumerate(tools))
    message = AssistantMessage("It is.", calls, thinking)
    return events.ModelAnswered(turn, message, Usage(2, 3), "stop", "m", 500, "0.5")


#: Everything that the recorded journals do not hold, in one.
RARE = recorded(
    (0, events.RunCreated("Do", "writer")),
    (1, events.RunStarted("host:1", "t", "openai:m")),
    (2, answered(1, "send", "delegate_task")),
    (2, events.RunForked("0199", 3, 1, {"task": "x"}, "anna")),
    (3, events.RunStarted("host:2", "t", "openai:m")),
    (3, ASKED),
    (4, events.ApprovalEscalated("1.0", "approval:1.0", "leads")),
    (
        5,
        events.WaitResolved(
            "approval:1.0", {"status": "edited", "by": "ann", "arguments": "{}"}, "approval", "1.0"
        ),
    ),
    (6, events.RunStarted("host:1", "t", "openai:m")),
    (6, events.ApprovalLapsed("1.0", "approval:1.0", "ann has left.")),
    (6, events.ToolStarted("1.0", "at_most_once")),
    (7, events.RunRequeued("the worker died")),
    (8, events.OutcomeRequested("1.0", "send", 1)),
    (
        9,
        events.WaitResolved(
            "outcome:1.0:1", {"status": "confirmed", "by": "ann", "result": "ok"}, "outcome", "1.0"
        ),
    ),
    (9, events.ToolFinished("1.0", "ok", "ok", "at_most_once", 3, grant=7)),
    (9, events.CallWaiting("1.1", ("child:0199",), runs=("0199",))),
    (9, events.ChildStarted("child:0200", "0200", "writer")),
    (9, events.WaitResolved("child:0200", {"subject": "writer", "status": "succeeded"}, "child")),
    (9, events.ReviewRequested(1, "Ten orders.", "group:editors")),
    (
        9,
        events.WaitResolved(
            "review:1",
            {"status": "answered", "answer": {"decision": "changes", "message": "More."}}
            | {"by": "ann"},
            "review",
        ),
    ),
    (9, events.BudgetAsked(1, 7, "The month's budget has reached 80 percent.")),
    (
        9,
        events.WaitResolved(
            "budget:7:1",
            {"status": "answered", "answer": {"decision": "continue"}, "by": "ann"},
            "budget",
        ),
    ),
    (9, events.RunPaused("pause:0", "It is night.", 60.0)),
    (9, events.WaitResolved("pause:0", {"status": "expired"}, "pause")),
    (9, GraphCommitted(0, next=(Activation("0.0", "a", NodeMessage("input")),))),
    (9, NodeFinished("0.0", "a", "error", error=NodeError("ValueError", "No."))),
    (9, events.ScriptCalled("1.0", 0, (ToolCall("x", "send", "{}"),), "monty-1:x", "hi", 2)),
    (
        10,
        events.WaitResolved(
            "child:0199", {"status": "failed", "error": {"message": "No."}}, "child"
        ),
    ),
    (11, events.ModelDelayed(2, "timer:2", "Busy.", 90.0)),
    (12, events.WaitResolved("timer:2", {"status": "fired"}, "timer")),
    (12, events.MemoriesRecalled((7, 9))),
    (12, events.MemoriesExtracted((7,), (9,), 1)),
    (12, events.MemoriesRecalled((), 2, "Notes", from_outsiders=True)),
    (12, events.RunSteered("Be brief.", "anna")),
    (13, events.ModelInterrupted(2, "The provider hung up.", Usage(1, 1), "m", 100)),
    (13, events.ContextSummarized(2, 9, "So far.", Usage(1, 1), "m", 100, "0.1")),
    (13, events.CancelRequested("enough")),
    (14, events.RunQuarantined(3)),
    (15, events.RunUnquarantined("anna")),
    (15, events.RunRestored("2026-12-01T03:00:00+00:00")),
    (15, events.RunReleased("anna")),
    (16, events.RunStarted("host:1", "t", "openai:m")),
    (17, events.RunFailed("model", "No.")),
    (18, events.RunCancelled("late", "partial")),
    (19, events.RunDiscarded("bert")),
    (20, events.RunSucceeded("Done.", "length", {"a": 1})),
)


def test_events_of_every_type_fit_a_page_wherever_it_came() -> None:
    check(RARE)
    assert {one.event.type for one in RARE} == set(events.EVENTS)
    for one in RARE:
        assert say(one.event, str).title != one.event.type, "it has words"


def test_an_event_changes_only_its_parts() -> None:
    run = view()
    changes = [set(run.fold(one) or {}) for one in RARE]
    assert changes[2] == {"run", "call 1.0", "call 1.1", "turn 1", "time 2"}
    assert changes[5] == {"run", "call 1.0", "time 4"}
    assert run.fold(RARE[5]) is None, "it is known"


def test_a_page_gets_the_pictures_of_a_call_with_its_result() -> None:
    address = f"artifact:{UUID(int=1)}/1.0-1f0c9d2a-picture-1.png"
    run = view()
    for one in RARE[:3]:
        run.fold(one)
    (finished,) = recorded((9, events.ToolFinished("1.0", "ok", "Taken.", images=(address,))))
    told = run.fold(replace(finished, seq=RARE[2].seq + 1)) or {}
    assert told["call 1.0"]["images"] == [address]


def test_given_no_call_then_the_time_of_a_person_says_what_they_are_asked_about() -> None:
    run = view()
    spans: dict[str, Any] = {}
    for one in RARE:
        changed = run.fold(one) or {}
        spans |= {key: part for key, part in changed.items() if key.startswith("time") and part}
    people = [one for one in spans.values() if one["kind"] == "person"]
    assert [one.get("name") or one["call"] for one in people] == [
        *("1.0", "1.0", "review of the result", "budget")
    ]


def test_the_time_of_a_run_is_told_apart() -> None:
    run = view()
    for one in recorded(
        (0, events.RunCreated("T", "w")),
        (1, events.RunStarted("w", "t", "m")),
        (3, ASKED),
        (
            6,
            events.WaitResolved(
                "approval:1.0", {"status": "approved", "by": "me"}, "approval", "1.0"
            ),
        ),
        (7, events.RunStarted("w", "t", "m")),
        (9, events.RunFailed("model", "No.")),
    ):
        run.fold(one)
    times = [part for name, part in run.snapshot().items() if name.startswith("time ")]
    took = [(part["kind"], (part["to"] - part["from"]) / 1000) for part in times]
    assert took == [("queue", 1), ("person", 3), ("queue", 1), ("tool", 2)]


def test_a_line_says_what_the_run_is_doing_now() -> None:
    run = view()
    done = {"status": "succeeded"}
    tasks = json.dumps({"tasks": [{"agent": name, "task": "x"} for name in ("ann", "bob")]})
    delegated = AssistantMessage("", (ToolCall("c0", "delegate_task", tasks),), ())
    doing = []
    for one in recorded(
        (0, events.RunCreated("T", "w")),
        (1, events.RunStarted("w", "t", "m")),
        (2, replace(answered(1), message=delegated)),
        (2, events.CallWaiting("1.0", ("child:a", "child:b"), runs=("a", "b"))),
        (3, events.WaitResolved("child:a", done)),
        (3, events.WaitResolved("child:b", done)),
        (4, events.ModelDelayed(2, "timer:2", "Busy.", 90.0)),
        (4, events.CancelRequested()),
        (5, events.RunCancelled()),
    ):
        doing.append(((run.fold(one) or {}).get("run") or {}).get("doing"))
    assert doing == [
        "Queued",
        "Asks the model",
        "Runs delegate_task",
        "Waits for ann, bob",
        "Waits for bob",
        "Queued again",
        "Is paused: Busy.",
        "Is being cancelled",
        "",
    ]


class TestDeltas:
    def test_known_pieces_and_those_of_a_former_attempt_are_not_told(self) -> None:
        run = view()
        assert run.stream(Delta(1, 1, 0, "Sun 🌞")) == {
            "kind": "text", "at": 0, "text": "Sun 🌞", "fresh": True, "gap": False,
            "doing": "Queued",
        }  # fmt: skip
        assert run.stream(Delta(1, 1, 0, "Sun 🌞")) is None
        change = run.stream(Delta(1, 1, 4, "🌞 up"))
        assert change is not None
        assert (change["at"], change["text"]) == (6, " up"), "a browser's units"
        run.stream(Delta(1, 2, 0, "Mo"))
        assert run.stream(Delta(1, 1, 8, "late")) is None
        run.stream(Delta(1, 2, 2, "on"))
        assert run.writing.text == "Moon"

    def test_thinking_stands_beside_the_text_and_a_gap_is_marked(self) -> None:
        run = view()
        for delta in (
            Delta(1, 1, 0, "Hm.", "thinking"),
            Delta(1, 1, 3, "It "),
            Delta(1, 1, 9, "end"),
        ):
            change = run.stream(delta)
        assert change is not None
        assert (change["at"], change["text"], change["gap"]) == (3, "…end", True)
        assert (run.writing.thinking, run.writing.text) == ("Hm.", "It …end")

    def test_the_next_turns_text_may_come_before_the_answer_is_read(self) -> None:
        run = view()
        started, answer = recorded((0, events.RunStarted("w", "t", "m")), (1, answered(1)))
        run.fold(started)
        run.stream(Delta(1, 1, 0, "It is."))
        run.stream(Delta(2, 2, 0, "And"))
        run.fold(answer)
        change = run.stream(Delta(2, 2, 3, " so"))
        assert change is not None
        assert (change["at"], run.text) == (3, "And so")

    def test_an_answer_ends_its_text_and_keeps_the_thinking_that_is_journaled(self) -> None:
        run = view()
        run.stream(Delta(1, 1, 0, "It "))
        [one] = recorded((0, answered(1)))
        assert "thinking" not in (run.fold(one) or {})["turn 1"], "who saw it live keeps it"
        assert run.text == ""
        assert run.stream(Delta(1, 1, 3, "is")) is None
        kept_thinking = (Thinking("anthropic", {"thinking": "Hm."}),)
        turn = view().fold(recorded((0, answered(1, thinking=kept_thinking)))[0]) or {}
        assert turn["turn 1"]["thinking"] == "Hm."
