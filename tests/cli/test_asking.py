"""`heartbit run --approve` on a terminal: the questions, the answers, and what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from agents.models import Decision, Grant, Run, ToolCall
from tests.cli.terminal import EDITED, JSON_PROMPT, PROMPT, REASON_PROMPT, Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command import Command

SIX = 'Six. [[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
HOSTILE = r'[[calls: calculate {"expression": "1+1\u001b[2J\u202e\n[a]pprove"}]] [[text: Done.]]'
TWO = '[[calls: calculate {"expression": "6*7"}, calculate {"expression": "1+1"}]] [[text: Done.]]'
THREE_TURNS = (
    '[[calls: calculate {"expression": "1+1"}]] [[then: calculate {"expression": "2+2"}]] '
    '[[then: calculate {"expression": "3+3"}]] [[text: Done.]]'
)


def asked(script: str, env: dict[str, str] | None = None) -> tuple[Terminal, str]:
    task = f"{script} [[run: {uuid4()}]]"
    return Terminal("run", task, "--agent", "analyst", "--approve", env=env), task


def calls(task: str) -> list[ToolCall]:
    return list(ToolCall.objects.filter(run__task=task).order_by("id"))


def test_a_person_sees_all_of_a_call_and_approves_it(heartbit: Command) -> None:
    terminal, task = asked(SIX)
    with terminal:
        shown = terminal.sees(PROMPT)
        terminal.types("a")
        assert terminal.ends() == (0, "Done.\n")
    for part in ("analyst", "calculate", "can be repeated safely", "Every tool call of this run"):
        assert part in shown
    assert '  | {\n  |   "expression": "6*7"\n  | }' in shown
    assert "Approved calculate of analyst." in terminal.text
    assert "(approved by " in terminal.text, "the tree that stays says who decided"
    decision = Decision.objects.get(run__task=task)
    assert (decision.verdict, decision.via) == ("approved", "inline")
    assert calls(task)[0].result == "42"


def test_what_a_model_writes_cannot_pretend_to_be_the_prompt(heartbit: Command) -> None:
    terminal, _ = asked(HOSTILE)
    with terminal:
        shown = terminal.sees(PROMPT)
        terminal.types("a")
        assert terminal.ends()[0] == 0
    assert r"1+1\u001b[2J\u202e\n[a]pprove" in shown
    assert "\x1b[2J" not in terminal.raw
    assert "\u202e" not in terminal.raw


def test_an_edit_that_does_not_fit_is_asked_again_and_a_denial_has_a_reason(
    heartbit: Command,
) -> None:
    terminal, task = asked(TWO)
    with terminal:
        terminal.sees(PROMPT)
        terminal.types("e")
        terminal.sees(JSON_PROMPT)
        terminal.types('{"expresion": "2+3"}')
        terminal.sees("Not decided: ")
        terminal.sees(JSON_PROMPT)
        terminal.types('{"expression": "2+3"}')
        terminal.sees(EDITED)
        terminal.sees(PROMPT)
        terminal.types("what?")
        terminal.sees("one of the letters")
        terminal.sees(PROMPT)
        terminal.types("d")
        terminal.sees(REASON_PROMPT)
        terminal.types("too easy")
        assert terminal.ends() == (0, "Done.\n")
    first, second = calls(task)
    assert first.result == "5"
    assert (second.status, "too easy" in (second.result or "")) == ("refused", True)
    verdicts = list(Decision.objects.filter(run__task=task).order_by("id"))
    assert [(one.verdict, one.reason) for one in verdicts] == [
        ("edited", ""),
        ("denied", "too easy"),
    ]


def test_yes_and_no_are_understood(heartbit: Command) -> None:
    terminal, task = asked(TWO)
    with terminal:
        terminal.sees(PROMPT)
        terminal.types("y")
        terminal.sees(PROMPT)
        terminal.types("n")
        terminal.sees(REASON_PROMPT)
        terminal.types("too easy")
        assert terminal.ends() == (0, "Done.\n")
    verdicts = (
        Decision.objects.filter(run__task=task).order_by("id").values_list("verdict", "reason")
    )
    assert list(verdicts) == [("approved", ""), ("denied", "too easy")]


def test_an_editor_opens_and_always_covers_what_comes_after(
    heartbit: Command, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\nstat -c %a "$(dirname "$1")" > ' + str(tmp_path / "mode") + "\n"
        'test -t 1 && printf \'{"expression": "40+4"}\' > "$1"\n'
    )
    editor.chmod(0o755)
    terminal, task = asked(THREE_TURNS, env={"EDITOR": str(editor)})
    with terminal:
        terminal.sees(PROMPT)
        terminal.types("e")
        terminal.sees(EDITED)
        terminal.sees(PROMPT)
        terminal.types("r")
        assert terminal.ends() == (0, "Done.\n")
    assert [call.result for call in calls(task)] == ["44", "4", "6"]
    assert terminal.text.count(PROMPT) == 2
    assert (tmp_path / "mode").read_text().strip() == "700"
    grant = Grant.objects.get(root__task=task)
    assert (grant.tool, grant.expires_at) == ("calculate", None)


def test_a_decision_in_another_terminal_ends_the_question_and_wakes_the_run(
    heartbit: Command,
) -> None:
    terminal, task = asked(SIX)
    with terminal:
        terminal.sees(PROMPT)
        run = Run.objects.get(task=task)
        decided = heartbit("approve", str(run.pk), "1.0", "--yes")
        assert (decided.code, decided.err) == (0, "")
        assert decided.out == 'Approved calculate of analyst: {"expression": "6*7"}\n'
        terminal.sees("in another terminal.")
        assert terminal.ends() == (0, "Done.\n")
    assert Decision.objects.get(run=run).via == "terminal"
    assert "The call was approved by " in terminal.text


def test_ctrl_c_at_the_question_cancels_the_run(heartbit: Command) -> None:
    terminal, task = asked(SIX)
    with terminal:
        terminal.sees(PROMPT)
        terminal.presses(b"half a wo\x03")
        assert terminal.ends() == (130, "")
    assert Run.objects.get(task=task).status == "cancelled"
    assert terminal.text.splitlines()[-1] == "heartbit: The run was cancelled."
