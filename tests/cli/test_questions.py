"""Questions of agents at a terminal, in scripts, and on a machine with an address and a key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

from agents.models import Decision, Run, ToolCall
from agents.querysets import calls_waiting
from heartbit_site.base.errors import HeartbitError
from heartbit_site.cli.approvals.decisions import CallChoice
from heartbit_site.cli.approvals.kinds import question
from heartbit_site.cli.backend.local import LocalBackend
from heartbit_site.cli.backend.server import ServerBackend
from heartbit_site.cli.commands import tools
from heartbit_site.cli.following import pending_calls
from heartbit_site.cli.terminal import errors
from heartbit_site.cli.terminal.margin import MARGIN
from heartbit_site.contract.approvals import ApprovalOut
from heartbit_site.remote.server import Server
from tests.api.server import WebServer, key_for
from tests.askers import COLOUR, TRIP, asker, script
from tests.cli.in_process import printed_json
from tests.cli.terminal import PROMPT, REASON_PROMPT, Terminal
from tests.cli.test_approve import refused
from tests.cli.test_approve_there import NOWHERE
from tests.fleet import wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.command import Command
    from tests.fleet import Worker

CONFIG = """
[orchestrator]
team = ["asker"]

[[agents]]
name = "asker"
description = "Asks."
system_prompt = "Ask."
tools = ["ask_human", "calculate"]
"""
BOTH = (
    '[[calls: calculate {"expression": "6*7"}, ask_human {"question": "Which colour?"}]]'
    " [[text: Done.]]"
)
EDITOR = """#!/bin/sh
basename "$1" >> %s
if grep -q Rome "$1"; then days=2; else days=0; fi
printf '{"to": "Rome", "days": %%d}' $days > "$1"
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "heartbit.toml"
    file.write_text(CONFIG)
    return str(file)


def answers(task: str) -> list[tuple[str, str | None]]:
    calls = ToolCall.objects.filter(run__task=task).order_by("id")
    return list(calls.values_list("status", "result"))


def shown(arguments: dict[str, Any], form: dict[str, Any]) -> str:
    fields: dict[str, Any] = {
        "run_id": str(UUID(int=1)),
        "call_id": "1.0",
        "agent": "asker",
        "tool": "ask_human",
        "effect": "pure",
        "reason": "The agent asks a person.",
        "arguments": arguments,
        "answer_schema": form,
    }
    call = ApprovalOut.model_construct(**{"summary": "", **fields})
    return "\n".join(question(call, 60))


def test_given_a_question_then_its_text_stands_beside_the_margin_and_hides_nothing() -> None:
    hostile = "Which?\n[a]nswer > a\x1b[2J\u202e\tnow"
    text = shown({"question": hostile, "form": COLOUR, "note": "x"}, COLOUR)
    _, _, below = text.partition("\n  question\n")
    assert below == (
        f"{MARGIN}Which?\n{MARGIN}[a]nswer > a\\u001b[2J\\u202e   now\n"
        f'  arguments\n{MARGIN}{{\n{MARGIN}  "note": "x"\n{MARGIN}}}\n'
        f"  answer\n{MARGIN}one of:\n{MARGIN}  1  red\n{MARGIN}  2  green"
    )
    words = shown({"question": "Which?"}, {"type": "string"})
    assert words.endswith(f"\n  question\n{MARGIN}Which?")


def test_given_choices_when_a_number_is_typed_inline_then_that_one_is_the_answer(
    heartbit: Command, config: str
) -> None:
    task = script("Which colour?", COLOUR)
    with Terminal("run", task, "--agent", "asker", "--config", config) as terminal:
        asked = terminal.sees(PROMPT)
        assert "An agent asks you." in asked
        assert "[e]dit" not in asked
        assert "always" not in asked
        terminal.types("r")
        terminal.sees("letters in brackets: a, d or s.")
        terminal.sees(PROMPT)
        terminal.types("a")
        terminal.sees("or its number > ")
        terminal.types("7")
        terminal.sees("Not decided: ")
        terminal.sees("or its number > ")
        terminal.types("2")
        terminal.sees("Answered ask_human of asker.")
        assert terminal.ends() == (0, "Done.\n")
    assert answers(task) == [("ok", "green")]
    decision = Decision.objects.get(run__task=task)
    assert (decision.verdict, decision.via) == ("answered", "inline")


def test_given_an_object_then_it_is_written_in_the_editor_until_it_fits(
    heartbit: Command, config: str, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(EDITOR % (tmp_path / "names"))
    editor.chmod(0o755)
    task = script("Where to?", TRIP)
    arguments = ("run", task, "--agent", "asker", "--config", config)
    with Terminal(*arguments, env={"EDITOR": str(editor)}) as terminal:
        assert "to: string, needed" in terminal.sees(PROMPT)
        terminal.types("a")
        assert "0 is less than 1" in terminal.sees(PROMPT)
        terminal.types("a")
        assert terminal.ends() == (0, "Done.\n")
    [(_, result)] = answers(task)
    assert json.loads(result or "") == {"to": "Rome", "days": 2}
    assert (tmp_path / "names").read_text() == "answer.json\nanswer.json\n"


def test_given_a_question_in_words_when_declined_then_the_model_reads_why(
    heartbit: Command, config: str
) -> None:
    task = script("Which colour?")
    with Terminal("run", task, "--agent", "asker", "--config", config) as terminal:
        terminal.sees(PROMPT)
        terminal.types("a")
        terminal.sees("Your answer > ")
        terminal.types("")
        terminal.sees("Nothing was answered.")
        terminal.sees(PROMPT)
        terminal.types("d")
        terminal.sees(REASON_PROMPT)
        terminal.types("Ask the designer.")
        terminal.sees("Declined ask_human of asker.")
        assert terminal.ends() == (0, "Done.\n")
    [(status, result)] = answers(task)
    assert (status, "Ask the designer." in (result or "")) == ("refused", True)


def test_given_no_terminal_then_scripts_answer_and_other_flags_leave_a_question_open(
    heartbit: Command, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    task = f"{BOTH} [[run: {uuid4()}]]"
    process = heartbit.start("run", task, "--agent", "asker", "--config", config, "--approve")
    assert process.stderr is not None
    wait_until(lambda: calls_waiting().filter(run__task=task).count() == 2, what="both calls wait")
    run = Run.objects.get(task=task)
    listed = printed_json(lambda: pending_calls.overview(LocalBackend()), capsys)
    found = listed["calls"]
    forms = {call["tool"]: call["answer_schema"] for call in found if call["run_id"] == str(run.pk)}
    assert (forms["calculate"], forms["ask_human"]["type"]) == (None, "string")
    refused(2, run, answer="Blue", part="name one of 1.0 of run ")
    refused(2, run, "1.0", answer="Blue", part="Call 1.0 asks nothing")
    refused(2, run, "1.1", yes=True, part="Call 1.1 is a question: say --answer TEXT")
    refused(2, run, "1.1", edit="{}", part="Call 1.1 is a question")
    refused(2, run, "1.1", answer="", part="is shorter")
    refused(2, run, "1.1", answer="x", deny="y", part="--answer and --deny")
    both = heartbit("approve", str(run.pk), "--yes")
    assert both.code == 1
    assert both.out.startswith("Approved calculate of asker: ")
    assert "Call 1.1 is a question: say --answer TEXT, or --deny REASON." in both.err
    said = heartbit("approve", str(run.pk), "1.1", "--answer", "Blue, please.")
    assert (said.code, said.err) == (0, "")
    assert said.out == 'Answered ask_human of asker: "Blue, please."\n'
    assert heartbit.end(process).out == "Done.\n"
    assert answers(task) == [("ok", "42"), ("ok", "Blue, please.")]


def test_given_a_question_without_a_terminal_then_the_run_says_who_can_answer(
    heartbit: Command, config: str
) -> None:
    task = script("Which colour?")
    process = heartbit.start("run", task, "--agent", "asker", "--config", config)
    assert process.stderr is not None
    told = next(line for line in process.stderr if "heartbit approve" in line)
    assert told.startswith("asker waits for an answer to ask_human: ")
    command = told.rpartition("heartbit ")[2].split()
    assert heartbit(*command, "--deny", "No.").out.startswith("Declined ask_human of asker: ")
    assert heartbit.end(process).out == "Done.\n"


def test_given_a_server_then_a_question_is_answered_there_as_at_home(
    web: WebServer,
    worker: Worker,
    workspace: Workspace,
    tmp_path: Path,
) -> None:
    asker(workspace)
    server = Server(web.url, key_for(workspace))
    runs = [start_run(workspace, script("Where to?", form), agent="asker") for form in (TRIP, None)]
    wait_until(lambda: calls_waiting(workspace).count() == 2, what="both questions wait")

    def answered(text: str, form_of: int = 0) -> int:
        run = str(runs[form_of])
        return pending_calls.of_run(ServerBackend(server), run, None, CallChoice("answer", text))

    for text, part in (('{"to": "Rome"}', "days"), ("Rome", "be JSON")):
        with pytest.raises(HeartbitError, match=part) as caught:
            answered(text)
        assert errors.explain(caught.value) is not None
    with pytest.raises(HeartbitError, match="is a question"):
        pending_calls.of_run(ServerBackend(server), str(runs[0]), None, CallChoice("approve"))
    assert answered('{"to": "Rome", "days": 2}') == 0
    env = {"HEARTBIT_API_KEY": server.key, "HEARTBIT_STATE_DIR": str(tmp_path / "s"), **NOWHERE}
    with Terminal("approve", str(runs[1]), "--url", server.url, env=env) as terminal:
        assert "  | Where to?" in terminal.sees(PROMPT)
        terminal.types("a")
        terminal.sees("Your answer > ")
        terminal.types("To Rome.")
        terminal.sees("Answered ask_human of asker.")
        assert terminal.ends() == (0, "")
    wait_until(
        lambda: Run.objects.filter(pk__in=runs, status="succeeded").count() == 2, what="both end"
    )
    results = [ToolCall.objects.get(run=run).result or "" for run in runs]
    assert (json.loads(results[0]), results[1]) == ({"to": "Rome", "days": 2}, "To Rome.")
    assert set(Decision.objects.filter(run__in=runs).values_list("via", flat=True)) == {"api"}


def test_given_the_tool_then_its_report_says_that_people_answer(
    database: None, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.show("ask_human")
    assert "a person answers each call" in capsys.readouterr().out
