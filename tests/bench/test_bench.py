"""The bench measures what it says, in the form that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bench import report, session
from tests.bench.profiles import summary

if TYPE_CHECKING:
    from pathlib import Path

KEYS = {
    "workload",
    "path",
    "p50_ms",
    "p95_ms",
    "floor_ms",
    "celery_floor_ms",
    "target_ms",
    "cpu_ms_per_run",
    "rss_mb",
}


@pytest.mark.usefixtures("database")
def test_each_path_of_a_workload_is_a_row_with_its_floors(tmp_path: Path) -> None:
    plan = session.Plan(runs=5, warm_up=2, cost_runs=0, profile_seconds=0)
    rows = session.measure(["W1"], plan)
    assert [row["path"] for row in rows] == ["durable", "in_process"]
    for row in rows:
        assert row.keys() >= KEYS
        assert 0 < row["floor_ms"] < row["p50_ms"] <= row["p95_ms"]
    path = tmp_path / "bench.json"
    report.merge(path, rows, keys=("workload", "path"))
    report.merge(path, rows[:1], keys=("workload", "path"))
    assert report.table(rows).startswith("workload")
    assert path.read_text().count('"workload": "W1"') == 2


def test_a_profile_names_the_functions_by_their_own_time() -> None:
    text = summary("main (a.py:1);work (a.py:2) 3\nmain (a.py:1);wait (a.py:9) 1\n")
    assert text.index("75.0%  work (a.py:2)") < text.index("25.0%  wait (a.py:9)")
    assert "100.0%  main (a.py:1)" in text
