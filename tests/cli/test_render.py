from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from rich.cells import cell_len

from heartbit_site.cli.views import display
from heartbit_site.cli.views.render import Canvas, render, tail
from heartbit_site.cli.views.tree import Tree
from tests.cli.trees import ONE, ROOT, START, delegation, started

NOW = START + timedelta(seconds=10)


def lines(width: int = 80, height: int = 0) -> list[str]:
    build = delegation()
    build.delta(ONE, "Bees \x1b[31mfly\x1b[0m and fly. " * 20)
    return [line.plain for line in render(build.tree, Canvas(width, NOW, height))]


def test_the_tree_shows_activity_calls_figures_and_ends() -> None:
    build = delegation()
    build.tree.runs[ROOT].model = "openai:test"
    shown = [line.plain.rstrip() for line in render(build.tree, Canvas(80, NOW))]
    assert shown == [
        "◌ orchestrator  openai:test  waits for researcher     10 in      5 out     10 s",
        "│ delegate_task researcher, writer",
        "├ ⠋ researcher  runs calculate  Find the facts        10 in      5 out    8.0 s",
        '│   calculate {"expression": "6*7"}',
        "└ ✔ writer  Write it up                               10 in      5 out    2.0 s",
    ]


@pytest.mark.parametrize("width", [20, 40, 59, 60, 80, 200])
@pytest.mark.parametrize("height", [3, 5, 8, 24])
def test_it_fits_every_terminal(width: int, height: int) -> None:
    shown = lines(width, height)
    assert len(shown) <= height
    assert all(cell_len(line) <= width for line in shown)


def test_streamed_text_is_a_clean_tail() -> None:
    shown = "\n".join(lines(height=24))
    assert "Bees fly and fly." in shown
    assert "\x1b" not in shown
    assert all(cell_len(line) <= 20 for line in tail("漢字" * 100, 20, 2))


def test_hundreds_of_sub_agents_fit_too() -> None:
    build = delegation()
    for number in range(10, 310):
        build.seen(UUID(int=number), f"worker-{number}", ROOT)
        build.event(UUID(int=number), started())
    shown = [line.plain for line in render(build.tree, Canvas(80, NOW, 20))]
    assert len(shown) == 20
    assert shown[-1].strip() == "... and 284 more sub-agents: 283 running, 1 succeeded"


def test_a_terminal_without_unicode_gets_ascii() -> None:
    canvas = Canvas(80, NOW, ascii_only=True)
    shown = [line.plain.rstrip() for line in render(delegation().tree, canvas)]
    assert all(map(str.isascii, shown))
    assert shown[2].startswith("| | researcher  runs calculate")


def test_plain_lines_tell_the_same() -> None:
    build = delegation()
    again = Tree()
    told = []
    for update in build.updates:
        again.apply(update)
        told += display.event_lines(again, update)
    assert told == [
        "orchestrator  started with openai:test",
        "orchestrator  asked for delegate_task (turn 1, 10 in, 5 out, 1.2 s)",
        "orchestrator  waits for delegate_task researcher, writer (2 sub-agents)",
        "researcher    started with openai:test",
        "researcher    asked for calculate (turn 1, 10 in, 5 out, 1.2 s)",
        "writer        started with openai:test",
        "writer        answered (turn 1, 10 in, 5 out, 1.2 s)",
        "writer        succeeded after 2.0 s",
    ]
    assert display.progress_lines(build.tree) == [
        "orchestrator  waits for researcher ...",
        "researcher    runs calculate ...",
    ]


def test_what_waits_is_said_once_and_who_works_again_and_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(display, "QUIET_SECONDS", -1.0)
    shown = display.Lines()
    shown.tree = delegation().tree
    for _ in range(2):
        shown.tick()
    assert capsys.readouterr().err.count("researcher    runs calculate ...\n") == 2
    for run in shown.tree.runs.values():
        run.status = "waiting"
    for _ in range(3):
        shown.tick()
    assert capsys.readouterr().err.count("for researcher") == 1
