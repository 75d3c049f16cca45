"""R15, smaller: every fault of a model provider once; ``make chaos ONLY=R15`` cuts every byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import report
from tests.chaos.model_faults import scenario

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
# aiohttp means well: the conversation after 5,000 tool calls is sent in one piece.
@pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning")
@pytest.mark.usefixtures("database")
def test_whatever_a_provider_does_the_run_ends_as_documented(tmp_path: Path) -> None:
    row = scenario.play("small", seed=0, directory=tmp_path)
    assert row["pass"], report.table([row])
