"""A small R4; ``make chaos ONLY=R4`` kills Valkey twenty times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.models import Agent, ToolBinding
from heartbit_site.first_start import DEFAULT_WORKSPACE
from tests.chaos import broker_down, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def tidy(database: None) -> Iterator[None]:
    """The command line's agent is one of the default workspace: no other test sees it."""
    yield
    left = Agent.objects.filter(workspace__slug=DEFAULT_WORKSPACE, name__startswith="courier-")
    ToolBinding.objects.filter(agent__in=left).delete()
    left.update(current_version=None, enabled=False)


@pytest.mark.chaos
@pytest.mark.usefixtures("tidy")
def test_a_broker_that_is_killed_frozen_or_full_costs_no_run_and_no_caller(tmp_path: Path) -> None:
    row = broker_down.play("small", seed=4, directory=tmp_path)
    assert row["pass"], report.table([row])
