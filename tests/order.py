"""The order of test files under pytest-xdist: the longest first, by stored durations.

A long file that begins last keeps one process busy while the others are idle. The durations are in
``tests/durations.json``; ``make durations`` measures them anew. A file without one begins among the
first. Without pytest-xdist nothing is reordered.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

STORED: Final = Path(__file__).with_name("durations.json")
OPTION: Final = "--store-durations"


def longest_first(files: list[str], durations: dict[str, float]) -> list[str]:
    """Return the files in the order in which they begin."""
    unknown = max(durations.values(), default=0.0)
    return sorted(files, key=lambda file: -durations.get(file, unknown))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--store-durations``."""
    parser.addoption(OPTION, action="store_true", help="write tests/durations.json")


def pytest_configure(config: pytest.Config) -> None:
    """Measure, if asked to; a worker process leaves it to the process that controls it."""
    if config.getoption(OPTION) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the longest files begin first; the tests of a file stay in their order."""
    if not hasattr(config, "workerinput") or not STORED.exists():
        return
    files = list(dict.fromkeys(_file(item.nodeid) for item in items))
    order = longest_first(files, json.loads(STORED.read_text()))
    place = {file: number for number, file in enumerate(order)}
    items.sort(key=lambda item: place[_file(item.nodeid)])


class Durations:
    """Sums up the seconds of each file and stores them at the end."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one phase of a test."""
        self._seconds[_file(report.nodeid)] += report.duration  # type: ignore[assignment]

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Store them, unless the run was cut short."""
        if exitstatus in (0, 1):
            found = {file: round(seconds, 1) for file, seconds in sorted(self._seconds.items())}
            STORED.write_text(json.dumps(found, indent=0) + "\n")


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
