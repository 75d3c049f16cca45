from __future__ import annotations

from datetime import timedelta

from agents import events
from heartbit_site.cli.tree import Tree
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
    build.event(ROOT, events.WaitResolved("child:1"))
    assert build.tree.runs[ROOT].status == "waiting"
    build.event(ROOT, events.WaitResolved("child:2"))
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
