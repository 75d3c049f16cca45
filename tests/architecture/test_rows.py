"""Tests leave the rows of others: the installation's own would be gone for all that follow."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
#: Both empty all tables at the end of a test.
FLUSHES = ("transaction=" + "True", "transactional" + "_db")


def test_no_test_empties_the_tables() -> None:
    found = [
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if any(word in path.read_text() for word in FLUSHES)
    ]
    assert found == []
