"""The text of a run that an extraction's model is given."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from agents.loop.extraction import Line, block

SAID_AT = datetime(2026, 11, 28, tzinfo=UTC)
LONGEST = 8_000  # characters of one line


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("x" * LONGEST, "x" * LONGEST),
        ("x" * (LONGEST + 1), "x" * LONGEST + " (cut)"),
    ],
)
def test_a_long_line_is_cut(text: str, read: str) -> None:
    date, said = map(json.loads, block([Line("person", text, 1)], [], SAID_AT).splitlines())
    assert date == {"date": "Saturday, 2026-11-28"}
    assert said == {"line": 1, "by": "person", "new": True, "text": read}
