"""A scenario's failure counts unless the machine stood still, or its fault hit nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from django.conf import settings

from tests.chaos import attempts
from tests.chaos.stalls import LONG_SECONDS
from tests.pace import GaveUp

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("database")


class Scenario:
    """A scenario whose rows are given, by the number of the play."""

    def __init__(self, *rows: dict[str, Any], stall: float = 0.0) -> None:
        self.seeds: list[int] = []
        self._rows = rows
        self._stall = stall

    def __call__(self, size: str, *, seed: int, directory: Path) -> dict[str, Any]:
        first = not self.seeds
        self.seeds.append(seed)
        if first and self._stall:
            with psycopg.connect(settings.DATABASE_DIRECT_URL) as session:
                session.execute("LOCK TABLE chaos_pulse")
                time.sleep(self._stall)  # the stall itself, not a wait for something
        return self._rows[min(len(self.seeds), len(self._rows)) - 1]


def row(*, late: int = 0, invalid: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "scenario": "R0",
        "figure": {"late": late},
        "target": {"late": 0},
        "pass": not late and not invalid,
        "also": {"faults": [], "invalid": list(invalid)},
    }


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that keeps pace, whatever runs beside this test."""
    monkeypatch.setattr("tests.pace.STARVED_SHARE", 2.0)
    monkeypatch.setattr(attempts, "BUILD", tmp_path / "build")


@pytest.fixture
def never_still(steady: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that keeps pace and whose disk never stops, whatever this test's really does."""
    monkeypatch.setattr("tests.chaos.stalls.LONG_SECONDS", float("inf"))


@pytest.mark.usefixtures("never_still")
def test_given_a_failure_at_full_pace_then_it_counts_at_once() -> None:
    scenario = Scenario(row(late=1), row())
    assert not attempts.play("R0", scenario, size="small", seed=5)["pass"]
    assert scenario.seeds == [5]


@pytest.mark.parametrize(("figure", "plays"), [("lost", 1), ("start_p95_s", 2)])
def test_given_a_starved_machine_then_it_excuses_what_is_late_and_nothing_lost(
    figure: str, plays: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tests.pace.STARVED_SHARE", -1.0)  # whatever runs beside this test
    monkeypatch.setattr(attempts, "BUILD", tmp_path / "build")
    broken = row(late=1) | {"figure": {figure: 1}, "target": {figure: 0}}
    scenario = Scenario(broken, row())
    assert attempts.play("R0", scenario, size="small", seed=5)["pass"] is (plays == 2)
    assert len(scenario.seeds) == plays


@pytest.mark.usefixtures("steady")
def test_given_a_machine_that_stood_still_then_it_is_played_again() -> None:
    scenario = Scenario(row(late=1), row(), stall=LONG_SECONDS * 1.5)
    played = attempts.play("R0", scenario, size="small", seed=5)
    assert played["pass"]
    assert scenario.seeds == [5, 6]
    assert len(played["replayed"]) == 1


@pytest.mark.usefixtures("steady")
def test_given_a_fault_that_hit_nothing_then_others_get_a_chance_and_at_last_it_fails() -> None:
    scenario = Scenario(row(invalid=("nobody was hit",)))
    played = attempts.play("R0", scenario, size="small", seed=0)
    assert not played["pass"]
    assert played["replayed"] == ["nobody was hit"] * attempts.REPLAYS
    assert scenario.seeds == [0, 1, 2, 3]


@pytest.mark.usefixtures("never_still")
def test_given_a_scenario_that_gives_up_then_it_is_a_row_with_its_reason() -> None:
    def scenario(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
        raise GaveUp("not within 40 s: worker registered")

    played = attempts.play("R0", scenario, size="small", seed=5)
    assert not played["pass"]
    assert played["also"]["faults"] == ["not within 40 s: worker registered"]


@pytest.mark.usefixtures("never_still")
@pytest.mark.parametrize(
    ("error", "plays"), [(GaveUp("not within 1 s: x"), 2), (AssertionError("1 is not 2"), 1)]
)
def test_given_a_starved_machine_then_it_excuses_a_wait_that_ended_and_no_wrong_value(
    error: AssertionError, plays: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.pace.STARVED_SHARE", -1.0)
    seeds: list[int] = []

    def scenario(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
        seeds.append(seed)
        if len(seeds) == 1:
            raise error
        return row()

    assert attempts.play("R0", scenario, size="small", seed=5)["pass"] is (plays == 2)
    assert len(seeds) == plays
