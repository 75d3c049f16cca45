"""A small R9 with every run of the tests; ``make chaos ONLY=R9`` is the large one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import poison, report

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet import Worker


@pytest.mark.chaos
def test_a_run_that_aborts_its_process_is_quarantined_and_no_other(
    worker: Worker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def others() -> str:
        return worker.log.read_text() + caplog.text

    row = poison.play("small", seed=1, directory=tmp_path, others=others)
    assert row["pass"], report.table([row])
