"""What a scenario's tests found, counted while pytest plays them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

_FIGURE, _NOTE, _MOST, _CASES = "figure:", "note:", "most:", "cases"


class Tally:
    """A plugin of pytest's.

    A test says more than that it passed with ``record_property("figure:NAME", number)``, whose
    target is 0, ``record_property("note:NAME", number)`` without a target,
    ``record_property("most:NAME", number)`` of which the row has the largest, and
    ``record_property("cases", number)`` for what it tried in one go.
    """

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = self.cases = 0
        self.figures: dict[str, float] = {}
        self.notes: dict[str, float] = {}
        self.broken: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count it."""
        if report.failed:
            self.failed += 1
            self.broken.append(f"{report.nodeid} ({report.when})")
        elif report.skipped:
            self.skipped += 1
        if report.when != "call":
            return
        self.passed += report.passed
        noted: dict[str, Any] = dict(report.user_properties)
        self.cases += int(noted.get(_CASES, 1))
        for name, value in noted.items():
            for prefix, into in ((_FIGURE, self.figures), (_NOTE, self.notes)):
                if name.startswith(prefix):
                    key = name.removeprefix(prefix)
                    into[key] = into.get(key, 0) + float(value)
            if name.startswith(_MOST):
                key = f"most_{name.removeprefix(_MOST)}"
                self.notes[key] = max(self.notes.get(key, 0), float(value))

    def row(self, scenario: str, title: str, *, code: int) -> dict[str, Any]:
        """As a row of ``build/security.json``; ``code`` is pytest's."""
        figure = {"tests_failed": float(self.failed), **self.figures}
        held = all(value == 0 for value in figure.values())
        return {
            "scenario": scenario,
            "runs": self.cases,
            "figure": figure,
            "target": dict.fromkeys(figure, 0),
            "pass": held and code == 0 and self.passed > 0,
            "seed": 0,
            "also": {
                **self.notes,
                "tests_passed": self.passed,
                "tests_skipped": self.skipped,
                "faults": self.broken,
                "invalid": [] if self.passed else ["no test was played"],
            },
            "lines": [title],
        }
