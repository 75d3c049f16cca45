"""What a test may claim of a run, and what it is told if it does not hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agents.models import Run
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.library import Heartbit
from heartbit_site.testing import Reply, calls

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.testing.plugin import Play
    from tests.command import Command

SOLO = Heartbit().agent("solo", "Be brief.", tools=["calculate"], fallback_models=["openai:fake"])
pytestmark = pytest.mark.usefixtures("database")

SUM = calls(("calculate", {"expression": "6*7"}))


def test_claims_about_calls(heartbit_run: Play) -> None:
    run = heartbit_run(SOLO, "Count.", model=[SUM, "42."])
    run.assert_succeeded()
    assert run.assert_called("calculate").result == "42"
    run.assert_called("calculate", expression="6*7")
    run.assert_not_called("calculate", expression="7*7")
    run.assert_not_called("current_time")
    made = r'Calls: calculate \{"expression": "6\*7"\} \(ok\)\.'
    with pytest.raises(AssertionError, match=rf"current_time was not called\. {made}"):
        run.assert_called("current_time")
    with pytest.raises(AssertionError, match=rf"was called\. {made}"):
        run.assert_not_called("calculate")
    assert [len(request.messages) for request in run.requests] == [1, 3]


def test_a_script_that_ends_too_early_asks_no_provider(heartbit_run: Play) -> None:
    run = heartbit_run(SOLO, "Count.", model=[SUM])
    with pytest.raises(AssertionError, match="has 1 answers and this is request 2"):
        run.assert_succeeded()


def test_the_agents_of_a_file_are_played(heartbit_run: Play, tmp_path: Path) -> None:
    file = tmp_path / "heartbit.toml"
    file.write_text(
        """[[agents]]
name = "clerk"
description = "Counts."
system_prompt = "Count for me."
model = "openai:gpt-5"
tools = ["calculate"]
"""
    )
    run = heartbit_run(file, "Count.", model=[SUM, "42."])
    run.assert_succeeded()
    assert run.assert_called("calculate").agent == "clerk"
    assert "Count for me." in run.requests[0].system
    file.write_text("[[agents]]\nname = 7")
    with pytest.raises(ConfigFileError, match="description is missing"):
        heartbit_run(file, "Count.", model=["42."])


def test_a_team_is_played_with_a_function(heartbit_run: Play) -> None:
    team = SOLO.agent("writer", "Write.", description="Writes.")
    lead = calls(("delegate_task", {"tasks": [{"agent": "writer", "task": "A line."}]}))

    def answer(request: object) -> Reply | str:
        text = str(request)
        if "A line." in text and "delegate_task" not in text:
            return "Prose."
        return "Done." if "Prose." in text else lead

    run = heartbit_run(team, "Write something.", model=answer)
    assert run.text == "Done."
    run.assert_called("delegate_task")


def test_a_run_with_a_script_is_shown_recorded_and_replayed(
    heartbit_run: Play, heartbit: Command, tmp_path: Path
) -> None:
    """A recording holds the script, as the model wrote it; a replay makes its calls again."""
    scripted = Heartbit().agent("scripted", "Be brief.", tools=["calculate"], code_mode=True)
    script = "first = await calculate('6*7')\nprint(await calculate(f'{first}+1'))"
    run = heartbit_run(
        scripted, "Count twice.", model=[calls(("run_script", {"script": script})), "43."]
    )
    made = [(call.tool, call.status, call.result) for call in run.calls]
    assert made == [
        ("run_script", "ok", "43"),
        ("calculate", "ok", "42"),
        ("calculate", "ok", "43"),
    ]
    row = Run.objects.filter(task="Count twice.").latest("created_at")
    here = (str(row.pk), "--workspace", row.workspace.slug)
    shown = heartbit("runs", "show", *here)
    assert (shown.code, shown.err) == (0, "")
    for call_id in ("1.0 ", "1.0.0", "1.0.1"):
        assert call_id in shown.out
    machine = heartbit("runs", "show", *here, "--json").json
    assert [call["call_id"] for call in machine["calls"]] == ["1.0", "1.0.0", "1.0.1"]
    assert machine["result"]["metrics"]["tool_calls"] == 3

    path = tmp_path / "scripted.json"
    assert heartbit("runs", "export", *here, "--cassette", str(path)).code == 0
    [recorded] = json.loads(path.read_text())["runs"]
    assert [[call["tool"] for call in answer["calls"]] for answer in recorded["answers"]] == [
        ["run_script"],
        [],
    ]
    again = heartbit_run(scripted, model=path)
    assert [(call.tool, call.status, call.result) for call in again.calls] == made
    assert again.text == "43."
