"""The past on the command line: turns, forks, versions, rollbacks; here and against a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from agents.actions.fleet import pause_work, resume_work
from agents.actions.publish_agent import publish_agent
from agents.choices import Placement
from agents.limits.pauses import of_workspace
from agents.models import Agent, Run, ToolBinding
from heartbit_site.base.audit import Actor
from heartbit_site.cli.backend.local import LocalBackend
from heartbit_site.cli.commands.fork import confirm
from heartbit_site.cli.terminal.errors import CommandError
from heartbit_site.cli.views import turn_text
from heartbit_site.contract.turns import ForkIn, TurnOut
from heartbit_site.first_start import default_workspace
from tests.admin import rows
from tests.cli.places import NOWHERE
from tests.starts import start_tool_call

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place
    from tests.command import Command
    from tests.fleet import Worker

SUM = 'Do it. [[calls: calculate {"expression": "6*7"}]] [[text: It is 42.]]'
EVIL = "a\x1b[2Jb\u202ec"


@pytest.fixture
def keeper(workspace: Workspace) -> str:
    """An agent with two versions."""
    row = Agent.objects.create(workspace=workspace, name="keeper", system_prompt="One.\n")
    ToolBinding.objects.create(agent=row, tool="calculate")
    publish_agent(row)
    row.system_prompt, row.max_turns = "Two.\n", 4
    row.save()
    publish_agent(row)
    return row.name


@pytest.fixture
def run(here: Place, keeper: str) -> str:
    """A run of it with two turns."""
    return str(here("run", SUM, "--agent", keeper, "--json").json["id"])


def test_a_turn_is_shown(place: Place, here: Place, run: str) -> None:
    words = ("runs", "show", run, "--turn", "1")
    assert place(*words, "--json").json == here(*words, "--json").json
    shown = place(*words).out
    for said in (
        "turn 1 of 2, keeper v2",
        "  system\n  | Two.",
        "  1. user\n  | Do it.",
        '  | -> calculate {"expression":"6*7"}',
        "tools: calculate",
        "  1.0 calculate: ok, pure",
        "  | 42",
    ):
        assert said in shown, said
    absent = place("runs", "show", run, "--turn", "9")
    assert (absent.code, absent.err.count("\n")) == (2, 1)
    assert "no turn 9; its turns are: 1 to 2" in absent.err


def test_a_fork_runs_on_the_fleet_and_here(
    here: Place, there: Place, run: str, worker: Worker
) -> None:
    told = ("--turn", "2", "--message", "Now [[text: Bye.]]")
    watched = there("runs", "fork", run, *told, "--watch", "--plain")
    assert (watched.code, watched.out) == (0, "Bye.\n")
    plain = there("runs", "fork", run, "--turn", "1")
    fork = Run.objects.get(pk=plain.out.strip())
    assert str(fork.forked_from_id) == run
    made = here("runs", "fork", run, "--call", "1.0", "--result", "43", "--local", "--json")
    assert made.json["status"] == "succeeded"
    assert made.json["placement"] == "local"
    again = ("--call", "1.0", "--arguments", '{"expression": "6*8"}')
    other = here("runs", "fork", run, *again, "--local", "--json")
    for fork_id, expected in ((made.json["id"], "43"), (other.json["id"], "48")):
        given = here("runs", "show", fork_id, "--turn", "1", "--json").json
        assert given["calls"][0]["result"] == expected


def test_given_a_stopped_workspace_then_forks_and_retries_are_refused(
    place: Place, workspace: Workspace, run: str
) -> None:
    by, held = Actor("ann", "terminal"), of_workspace(workspace)
    pause_work(held, by=by)
    try:
        refused = [
            place(*words)
            for words in (("runs", "fork", run, "--turn", "1"), ("runs", "retry", run))
        ]
    finally:
        resume_work(held, by=by)
    for result in refused:
        assert result.code != 0
        assert "was stopped by ann, so no run starts" in result.err
    assert not Run.objects.filter(forked_from=UUID(run)).exists()


@pytest.mark.django_db
def test_effects_that_would_happen_again_need_a_yes(capsys: pytest.CaptureFixture[str]) -> None:
    _, child = rows.tree(default_workspace())
    run, again = str(child.pk), ForkIn(turn=1, call_id="1.0", arguments={})
    with pytest.raises(CommandError, match="Say --yes if that is meant"):
        confirm(LocalBackend(), run, again)
    said = capsys.readouterr().err
    assert "All calls of turn 1 run again, and what they do outside happens again:\n" in said
    assert "  1.0 http_request: takes effect at most once, and cannot be taken back\n" in said
    confirm(LocalBackend(), run, again, yes=True)
    confirm(LocalBackend(), run, ForkIn(turn=1, call_id="1.0", result="x"))
    assert capsys.readouterr().err == "", "nothing runs again"


@pytest.mark.django_db
def test_a_run_that_is_a_call_is_forked_with_other_arguments_after_a_yes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = default_workspace()
    name = Agent.objects.filter(workspace=place, current_version__isnull=False)[0].name
    run = start_tool_call(place, "http_request", {"url": "x"}, agent=name, home=Placement.LOCAL)
    with pytest.raises(CommandError, match="Say --yes if that is meant"):
        confirm(LocalBackend(), str(run), ForkIn(turn=0, call_id="0.0", arguments={}))
    said = capsys.readouterr().err
    assert "The call runs again, and what it does outside happens again:\n" in said
    assert "  0.0 http_request: its effect is not known\n" in said


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ((), "Say from which turn"),
        (("--turn", "1", "--call", "2.0", "--result", "x"), "belongs to turn 2"),
        (("--call", "x"), "x is no call"),
        (("--call", "1.0", "--arguments", "[]"), "takes a JSON object"),
    ],
)
def test_what_cannot_be_meant_is_said_in_a_sentence(
    heartbit: Command, asked: tuple[str, ...], sentence: str
) -> None:
    refused = heartbit("runs", "fork", "01993e3c", *asked, env=NOWHERE)
    assert refused.code == 2
    assert sentence in refused.err


def test_versions_are_listed_compared_and_brought_back(
    place: Place, here: Place, workspace: Workspace, keeper: str
) -> None:
    for arguments in (
        *(["versions", keeper], ["versions", keeper, "--json"], ["diff", keeper]),
        *(["diff", keeper, "2", "1", "--json"], ["diff", keeper, "2"], ["versions", "nobody-here"]),
        ["rollback", keeper, "9"],
    ):
        found, same = (where("agents", *arguments) for where in (place, here))
        assert (found.code, found.out) == (same.code, same.out), arguments
    listed = place("agents", "versions", keeper).out.splitlines()
    assert listed[1].split()[0] == "2"
    assert listed[1].endswith("current")
    changed = place("agents", "diff", keeper).out
    assert "  | -One.\n  | +Two.\n" in changed
    assert "  limits.max_turns: 10 -> 4\n" in changed
    back = place("agents", "rollback", keeper, "1")
    assert (back.code, back.out) == (0, f"{keeper} is v1 now: its next runs use it.\n")
    row = Agent.objects.get(workspace=workspace, name=keeper)
    assert (row.system_prompt, row.max_turns) == ("One.\n", 10)
    again = place("agents", "rollback", keeper, "2", "--json").json
    assert again == {"agent": keeper, "version": 2, "requested_version": 2, "differs": ""}


def test_nothing_a_model_wrote_steers_the_terminal_or_begins_a_line() -> None:
    said: dict[str, Any] = {"role": "assistant", "text": EVIL, "tool_calls": []}
    call = {"id": "x", "name": EVIL, "arguments": EVIL}
    given = {"call_id": "1.0", "name": EVIL, "content": EVIL, "is_error": True}
    turn = TurnOut.model_validate(
        {
            "run_id": "r",
            "number": 1,
            "turn_count": 1,
            "complete": True,
            "agent": EVIL,
            "version": 1,
            "model": EVIL,
            "usage": {"input_tokens": 1, "output_tokens": 1, "cached_input_tokens": 0},
            "cost_usd": None,
            "duration_ms": 1,
            "answered_at": "2026-11-22T09:00:00Z",
            "request": {
                "system": f"x\n{EVIL}",
                "messages": [said, {"role": "tool", **given}],
                "tools": [],
                "changed_tools": [],
                "omitted_messages": 2,
                "tool_choice": "auto",
                "max_tokens": 1,
                "temperature": None,
                "stop": [],
                "reasoning_effort": "",
            },
            "answer": {**said, "tool_calls": [call], "finish_reason": "stop"},
            "calls": [
                {
                    "call_id": "1.0",
                    "tool": EVIL,
                    "arguments": EVIL,
                    "effect": "at_most_once",
                    "status": "ok",
                    "duration_ms": 1,
                    "finished_at": None,
                    "runs": [],
                    "result": EVIL,
                    "decision": {"status": "denied", "by": EVIL, "reason": EVIL, "arguments": None},
                }
            ],
        }
    )
    lines = turn_text.lines(turn, 80)
    assert not any("\x1b" in line or "\u202e" in line for line in lines)
    assert not any(line.startswith("a") for line in lines)
    assert [line for line in turn_text.effects(turn.calls) if "cannot be taken back" in line]
