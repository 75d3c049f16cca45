"""`heartbit run --approve` on a terminal: the questions, the answers, and what runs."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING
from uuid import uuid4

from agents.models import Decision, Grant, Run, ToolCall
from tests.cli.terminal import PROMPT, Terminal
from tests.fleet import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Command

SIX = 'Six. [[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'


def asked(script: str, *more: str, env: dict[str, str] | None = None) -> tuple[Terminal, str]:
    task = f"{script} [[run: {uuid4()}]]"
    return Terminal("run", task, "--agent", "analyst", "--approve", *more, env=env), task


def only_call(task: str) -> ToolCall:
    return ToolCall.objects.get(run__task=task)


def test_a_person_sees_all_of_a_call_and_approves_it(heartbit: Command) -> None:
    terminal, task = asked(SIX)
    with terminal:
        shown = terminal.sees(PROMPT)
        terminal.types("a")
        assert terminal.ends() == (0, "Done.\n")
    for part in ("analyst", "calculate", "no effect outside", "Every tool call of this run"):
        assert part in shown
    assert '  | {\n  |   "expression": "6*7"\n  | }' in shown
    assert "Approved calculate of analyst." in terminal.text
    assert "(approved by " in terminal.text
    decision = Decision.objects.get(run__task=task)
    assert (decision.verdict, decision.via) == ("approved", "inline")
    assert only_call(task).result == "42"
