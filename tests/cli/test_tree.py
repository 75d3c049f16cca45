from __future__ import annotations

import json
from datetime import timedelta

from agents.journal import events
from agents.llm.messages import Usage
from heartbit_site.cli.views import display
from heartbit_site.cli.views.render import Canvas, render
from heartbit_site.cli.views.tree import Tree
from tests.cli.trees import ONE, ROOT, START, TWO, Builder, answered, delegation, started


def test_children_stand_below_their_parent_in_order() -> None:
    walked = [(place, run.agent) for place, run in delegation().tree.walk()]
    assert walked == [((), "orchestrator"), ((False,), "researcher"), ((True,), "writer")]


def test_a_run_says_what_it_is_doing() -> None:
    build = delegation()
    tree = build.tree
    assert tree.activity(tree.runs[ROOT]) == "waits for researcher"
    assert tree.activity(tree.runs[ONE]) == "runs calculate"
    build.event(ONE, events.ToolFinished("1.0", "ok", "42", "pure", 3))
    assert tree.activity(tree.runs[ONE]) == "asks the model"
    build.delta(ONE, "The answer")
    assert tree.activity(tree.runs[ONE]) == "writes"
    build.event(ONE, events.CancelRequested())
    assert tree.activity(tree.runs[ONE]) == "is being cancelled"
    build.event(ONE, events.RunFailed("model", "The key is wrong."))
    assert tree.activity(tree.runs[ONE]) == "The key is wrong."


def test_a_parent_is_queued_when_its_last_wait_is_resolved() -> None:
    build = delegation()
    assert build.tree.runs[ROOT].status == "waiting"
    build.event(ROOT, events.WaitResolved("child:1", {}, "child"))
    assert build.tree.runs[ROOT].status == "queued"
    assert build.tree.activity(build.tree.runs[ROOT]) == "queued again"


def test_tokens_and_time_add_up() -> None:
    run = delegation().tree.runs[TWO]
    assert (run.input_tokens, run.output_tokens) == (10, 5)
    assert run.elapsed(START + timedelta(hours=1)) == 2.0


def test_reading_everything_again_changes_nothing() -> None:
    build = delegation()
    build.delta(ONE, "streamed")
    again = Tree()
    for update in [*build.updates, *build.updates]:
        again.apply(update)
    assert again.runs == build.tree.runs


def test_a_repeated_model_call_replaces_what_was_streamed() -> None:
    build = Builder()
    build.seen(ROOT, "writer")
    build.event(ROOT, started())
    build.delta(ROOT, "first tr", attempt=1001)
    build.delta(ROOT, "second ", attempt=1002)
    build.delta(ROOT, "try", attempt=1002, offset=7)
    build.delta(ROOT, "late", attempt=1001, offset=8)
    assert build.tree.runs[ROOT].text == "second try"


def test_a_gap_in_the_stream_is_shown_and_the_journal_ends_the_text() -> None:
    build = Builder()
    build.seen(ROOT, "writer")
    build.event(ROOT, started())
    build.delta(ROOT, "begin")
    build.delta(ROOT, "end", offset=50)
    assert build.tree.runs[ROOT].text == "begin…end"
    build.event(ROOT, answered(1))
    assert build.tree.runs[ROOT].text == ""


def asks(build: Builder) -> None:
    """A run that asks for one call, at its first turn."""
    build.seen(ROOT, "writer")
    build.event(ROOT, started())
    build.event(ROOT, answered(1, ("send", '{"to": "all"}')), 1)
    reason = "writer asks before it uses send."
    requested = events.ApprovalRequested("1.0", "send", {"to": "all"}, "pure", "d", reason)
    build.event(ROOT, requested, 2)


def test_a_call_waits_for_a_person_until_somebody_decides() -> None:
    build = Builder()
    asks(build)
    run = build.tree.runs[ROOT]
    assert run.status == "waiting"
    assert build.tree.activity(run) == "waits until a person decides about send"
    value = {"status": "edited", "by": "alice"}
    build.event(ROOT, events.WaitResolved("approval:1.0", value, "approval", "1.0"), 3)
    assert run.status == "queued"
    assert run.calls["1.0"].decided == "approved with other arguments by alice"
    shown = [line.plain for line in render(build.tree, Canvas(100, START))]
    assert "(approved with other arguments by alice)" in shown[1]
    build.event(ROOT, events.ToolFinished("1.0", "ok", "sent", "pure", 1, grant=7), 4)
    assert "by standing permission 7)" in told(build)[-1]


def test_a_question_that_a_person_answered_says_so_with_what_was_written() -> None:
    build = Builder()
    build.seen(ROOT, "orchestrator")
    build.event(ROOT, started())
    asked = {"question": "Which?"}
    build.event(ROOT, answered(1, ("ask_human", json.dumps(asked))))
    build.event(ROOT, events.ApprovalRequested("1.0", "ask_human", asked, "pure", "d", "It asks."))
    written = json.dumps({"question": "Which?", "answer": "Blue"})
    value = {"status": "answered", "by": "alice", "arguments": written}
    build.event(ROOT, events.WaitResolved("approval:1.0", value, "approval", "1.0"))
    shown = [line.plain for line in render(build.tree, Canvas(100, START))]
    assert f"ask_human {written} (answered by alice)" in shown[1]


def test_a_delegation_that_a_person_edited_names_those_who_really_work() -> None:
    build = Builder()
    build.seen(ROOT, "orchestrator")
    build.event(ROOT, started())
    asked = {"tasks": [{"agent": name, "task": "x"} for name in ("analyst", "researcher")]}
    build.event(ROOT, answered(1, ("delegate_task", json.dumps(asked))))
    requested = events.ApprovalRequested("1.0", "delegate_task", asked, "pure", "d", "It asks.")
    build.event(ROOT, requested)
    instead = json.dumps({"tasks": [{"agent": "writer", "task": "y"}]})
    value = {"status": "edited", "by": "alice", "arguments": instead}
    build.event(ROOT, events.WaitResolved("approval:1.0", value, "approval", "1.0"))
    build.event(ROOT, events.CallWaiting("1.0", ("child:1",), runs=("1",)))
    build.seen(ONE, "writer", ROOT, "y")
    assert told(build)[-1] == "orchestrator  waits for delegate_task writer (1 sub-agent)"
    shown = [line.plain for line in render(build.tree, Canvas(100, START))]
    assert "waits for writer" in shown[0]
    assert "delegate_task writer (approved with other arguments by alice)" in shown[1]
    build.event(ROOT, events.ToolFinished("1.0", "ok", "Done.", "pure", 3))
    assert told(build)[-1] == "orchestrator  ran delegate_task writer: Done. (3 ms)"


def test_a_call_that_was_approved_as_it_was_keeps_its_arguments() -> None:
    build = Builder()
    asks(build)
    value = {"status": "approved", "by": "alice", "arguments": None}
    build.event(ROOT, events.WaitResolved("approval:1.0", value, "approval", "1.0"), 3)
    assert build.tree.runs[ROOT].calls["1.0"].arguments == '{"to": "all"}'


def test_a_run_that_is_cancelled_asks_nobody_any_more() -> None:
    build = Builder()
    asks(build)
    build.event(ROOT, events.RunCancelled(), 3)
    assert not any(call.asked for call in build.tree.runs[ROOT].calls.values())


def test_pauses_summaries_and_words_of_others_are_told() -> None:
    build = Builder()
    build.seen(ROOT, "writer")
    build.event(ROOT, started())
    paused = events.ModelDelayed(1, "retry:1", "openai: too many requests.", 90.0)
    build.event(ROOT, paused, 0)
    run = build.tree.runs[ROOT]
    until = (START + timedelta(seconds=90)).astimezone()
    assert build.tree.activity(run) == f"is paused until {until:%H:%M:%S}: {paused.reason}"
    build.event(ROOT, events.WaitResolved("retry:1", {"status": "fired"}), 90)
    assert (run.status, run.pause) == ("queued", None)
    usage = Usage(input_tokens=100, output_tokens=20)
    build.event(ROOT, events.ContextSummarized(1, 9, "So far ...", usage, "test", 500), 91)
    assert (run.input_tokens, run.output_tokens) == (100, 20)
    build.event(ROOT, events.RunSteered("Be\nbrief \x1b[2J", "alice"), 92)
    shown = [line.plain for line in render(build.tree, Canvas(100, START, 20))]
    assert "told by alice: Be brief" in shown[1]
    lines = told(build)
    assert f"is paused for 1 min 30 s: {paused.reason} (turn 1)" in lines[1]
    assert lines[2:] == [
        "writer        summed up 8 earlier messages (100 in, 20 out, 500 ms)",
        "writer        told by alice: Be brief",
    ]


def told(build: Builder) -> list[str]:
    again, lines = Tree(), []
    for update in build.updates:
        again.apply(update)
        lines += display.event_lines(again, update)
    return lines
