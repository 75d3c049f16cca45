"""What the tests of the command line share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.models import Run

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def runs(database: None) -> Callable[[], int]:
    """How many runs there are."""
    return Run.objects.count
