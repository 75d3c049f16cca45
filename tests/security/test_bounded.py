"""A scenario that does not end, or dies, is a row that failed: those after it are played."""

from __future__ import annotations

from tests.chaos.report import table
from tests.security.bounded import played


def test_given_a_scenario_that_takes_too_long_when_played_then_its_row_says_so_and_failed() -> None:
    row = played("S14", seconds=0.05)
    assert (row["scenario"], row["pass"], row["runs"]) == ("S14", False, 0)
    assert row["also"]["invalid"] == ["it had not ended after 0.05 s"]
    assert "S14  FAIL" in table([row])
    assert "it had not ended after 0.05 s" in table([row])
