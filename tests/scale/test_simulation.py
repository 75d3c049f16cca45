"""The simulation says what was measured on two processors (docs/architecture/performance.md)."""

from __future__ import annotations

import pytest

from tests.scale.simulation import W1, W2, W7, Load, simulate

RUNS = 4_000
#: RATE: a closed loop of 64 on a model without latency.
MEASURED = {W1: 323.0, W2: 115.0}


@pytest.mark.parametrize("kind", MEASURED)
def test_the_rate_of_a_worker_is_that_of_the_bench(kind: tuple[float, int]) -> None:
    found = simulate(Load(RUNS, *kind, latency=0), cores=2, slots=64)
    assert found.a_second == pytest.approx(MEASURED[kind], rel=0.2)


def test_a_burst_takes_as_long_as_in_the_bench() -> None:
    """W7: 200 teams at once, each model call takes half a second; 5.9 s until all have ended."""
    found = simulate(Load(200, *W7, latency=0.5), cores=2, slots=1_000)
    assert 200 / found.a_second == pytest.approx(5.9, rel=0.25)


def test_without_load_a_run_takes_what_its_model_and_its_work_take() -> None:
    found = simulate(Load(50, *W2, latency=1.0, a_second=1.0), cores=2, slots=100)
    assert found.p95 == pytest.approx(2.015, abs=0.01)
