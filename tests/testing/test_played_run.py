"""What a test may claim of a run, and what it is told if it does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from heartbit_site.config.errors import ConfigFileError
from heartbit_site.library import Heartbit
from heartbit_site.testing import Reply, calls

if TYPE_CHECKING:
    from pathlib import Path

    from heartbit_site.testing.plugin import Play

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
