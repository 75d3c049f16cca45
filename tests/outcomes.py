"""A pytest plugin that writes the outcome of each report into a file (``-p tests.outcomes``).

The file is named by ``HEARTBIT_TEST_OUTCOMES``; it gets one JSON object a line. Under pytest-xdist
only the controlling process writes, and it reports a crashed worker as well. A file that
``HEARTBIT_TEST_ONLY`` names has the ids of the tests to be played, one a line: not every test can
be named to pytest itself, as those that schemathesis generates.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

VARIABLE = "HEARTBIT_TEST_OUTCOMES"
ONLY = "HEARTBIT_TEST_ONLY"


def _write(entry: dict[str, Any]) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(os.environ[VARIABLE]).open("a") as file:
            file.write(json.dumps(entry) + "\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A phase of a test; ``when`` is "???" for a test that took its process along."""
    _write({"nodeid": report.nodeid, "when": report.when, "outcome": report.outcome})


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be collected."""
    if report.failed:
        _write({"nodeid": report.nodeid, "when": "collect", "outcome": report.outcome})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all tests but those that ``HEARTBIT_TEST_ONLY`` lists."""
    if ONLY not in os.environ:
        return
    chosen = set(Path(os.environ[ONLY]).read_text().splitlines())
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]
