"""What is said of an event, whoever shows it."""

from __future__ import annotations

import pytest

from agents.journal import events
from agents.journal.waits import decision
from agents.live.words import say
from agents.llm.messages import AssistantMessage, ToolCall, Usage

USED = Usage(input_tokens=1200, output_tokens=3)
CALLS = {"1.0": "send (1.0)"}


def titled(event: events.Event) -> str:
    return say(event, lambda call: CALLS.get(call, "")).title


@pytest.mark.parametrize(
    ("event", "title"),
    [
        (events.ContextSummarized(1, 2, "S", USED, "m"), "summed up 1 earlier message"),
        (events.ContextSummarized(1, 9, "S", USED, "m"), "summed up 8 earlier messages"),
        (events.RunSteered("Be brief."), "told by somebody"),
        (events.RunDiscarded(""), "discarded"),
        (events.ToolFinished("1.0", "ok", "sent"), "ran send (1.0)"),
        (events.ToolFinished("1.1", "timeout", "late"), "timeout: call 1.1"),
        (events.ApprovalEscalated("1.0", "approval:1.0"),
         "no one decided about send (1.0) in time: escalated to everyone who may decide"),
        (events.WaitResolved("approval:1.0", {"status": "expired"}, "approval", "1.0"),
         "expired: send (1.0)"),
        (events.ApprovalEscalated("", "review:1"),
         "no one decided about the result in time: escalated to everyone who may decide"),
        (events.ReviewRequested(1, "Done.", "person:ann"),
         "waits for a review of its result by ann"),
        (events.WaitResolved("review:1", {"status": "expired"}, "review"),
         "no one reviewed the result in time"),
        (events.BudgetAsked(1, 7, "It has reached 80 percent."), "asks an owner to go on"),
        (events.WaitResolved("timer:1", {"status": "fired"}, "timer"), "the pause is over"),
    ],
)  # fmt: skip
def test_a_title_says_what_happened(event: events.Event, title: str) -> None:
    assert titled(event) == title


def test_a_model_call_says_what_it_took() -> None:
    calls = (ToolCall("c", "se\u202end", "{}"),)
    message = AssistantMessage("So.", calls)
    said = say(events.ModelAnswered(2, message, USED, "tool", "m", 4100, "0.0123"), str)
    assert said.title == "asked for se\\u202end", "nothing is hidden"
    assert said.heading.startswith("Asked")
    assert said.note == "turn 2, 1,200 in, 3 out, 4.1 s, $0.0123"


def test_a_decision_names_who_decided() -> None:
    assert decision({"status": "edited", "by": "ann"}) == "approved with other arguments by ann"
    assert decision({"status": "skipped", "by": "ann"}) == "left as it is by ann"
    assert decision({"status": "expired"}) == "expired"
