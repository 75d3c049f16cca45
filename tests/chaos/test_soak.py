"""Verdicts of R22 on made-up figures, and a soak of some seconds; ``make soak`` is an hour."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.chaos import session
from tests.chaos.records import Asked, Event, Run
from tests.chaos.soak.threads import attributed
from tests.chaos.soak.trends import growth, ratio
from tests.installation import BUILD
from tests.server_process import ROOT


def run(name: str, started: float, *, status: str = "succeeded") -> Run:
    return Run(name, name, status, (Event(1, "run.started", started, {}),), ())


class TestGrowth:
    def test_given_a_straight_line_then_its_slope_is_said_for_an_hour(self) -> None:
        found = growth([(at, 100 + at / 360) for at in range(0, 600, 10)])
        assert found.percent_an_hour == pytest.approx(9.92, abs=0.01)  # 10 MB of a mean of 100.8
        assert found.error == pytest.approx(0, abs=1e-6)

    def test_given_noise_without_a_trend_then_the_error_is_larger_than_the_slope(self) -> None:
        found = growth([(at, 100 + (at // 10 % 2)) for at in range(0, 600, 10)])
        assert abs(found.percent_an_hour) < found.error

    def test_given_too_little_then_nothing_is_claimed(self) -> None:
        assert growth([(0, 1), (1, 2)]).error == float("inf")


class TestRatio:
    def test_given_what_keeps_growing_then_the_last_third_is_larger(self) -> None:
        assert ratio(list(range(90))) == pytest.approx(74.5 / 44.5)

    def test_given_a_level_that_was_reached_in_the_first_third_then_it_is_one(self) -> None:
        assert ratio([1, 2, 3, 10, 10, 10, 10, 10, 10]) == 1

    def test_given_next_to_nothing_then_it_is_alike(self) -> None:
        assert ratio([0, 0, 0, 0, 1, 0, 3, 3, 3], floor=5) == 1


class TestRequestsOfAConversation:
    def test_given_its_first_runs_name_then_each_request_is_the_last_started_runs(self) -> None:
        thread = [run("a", 10), run("b", 20, status="failed"), run("c", 30)]
        asked = [Asked("a", 1, 11), Asked("a", 2, 12), Asked("a", 2, 21), Asked("a", 2, 31)]
        assert attributed(asked, [thread]) == (
            Asked("a", 1, 11),
            Asked("a", 2, 12),
            Asked("b", 1, 21),  # one answer came before it
            Asked("c", 1, 31),  # and none of the failed one
        )

    def test_given_a_late_request_of_the_run_before_then_it_is_not_lost(self) -> None:
        thread = [run("a", 10), run("b", 20)]
        late = attributed([Asked("a", 2, 21), Asked("a", 2, 22)], [thread])
        assert late == (Asked("b", 1, 21), Asked("b", 1, 22)), "a repeat, which nothing excuses"

    def test_given_another_run_then_it_stays_as_it_is(self) -> None:
        assert attributed([Asked("x", 1, 1)], [[run("a", 10)]]) == (Asked("x", 1, 1),)


def test_the_soak_is_no_part_of_all_scenarios() -> None:
    assert frozenset({"R22"}) == session.WHEN_NAMED
    assert session.SCENARIOS.keys() > session.WHEN_NAMED


def test_given_a_short_soak_then_it_measures_first_and_nothing_is_lost_or_drifts() -> None:
    """Real servers, workers and deaths for half a minute, as ``make soak SECONDS=30``.

    Of so few seconds nothing is said about growth: the promises have to hold, and the figures of
    tables, connections and latency have to be there.
    """
    command = [sys.executable, "-m", "tests.chaos.soak", "--seconds", "30", "--seed", "7"]
    played = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    row = json.loads((BUILD / "soak.json").read_text())
    promises = ("lost", "model_calls_repeated", "effects_doubled", "approval_violations", "stuck")
    assert {name: row["figure"][name] for name in promises} == dict.fromkeys(promises, 0), played
    twice = 2 * row["also"]["runs_a_second"]
    assert row["also"]["measured_a_second"] == pytest.approx(twice, rel=0.01)
    assert row["also"]["kills"]
    ratios = {"table_bytes_a_run", "connections", "latency_p95", "survivor_memory"}
    assert {f"{name}_ratio" for name in ratios} <= row["figure"].keys()
    assert played.returncode == (0 if row["pass"] else 1)
    assert "latency_p95_ratio" in played.stdout
