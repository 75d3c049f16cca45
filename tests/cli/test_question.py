from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from rich.cells import cell_len

from heartbit_site.cli.approvals.kinds import question
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.margin import MARGIN, margined, wrap
from heartbit_site.cli.terminal.times import until
from heartbit_site.contract.approvals import ApprovalOut

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def waiting(arguments: dict[str, Any], tool: str = "send") -> ApprovalOut:
    fields: dict[str, Any] = {
        "run_id": str(UUID(int=1)),
        "call_id": "1.0",
        "agent": "writer",
        "tool": tool,
        "summary": "",
        "effect": "at_most_once",
        "reason": "writer asks before it uses send.",
        "arguments": arguments,
        "answer_schema": None,
    }
    return ApprovalOut.model_construct(**fields)


@pytest.mark.parametrize("width", [24, 40, 80, 200])
def test_no_text_of_a_model_begins_a_line(width: int) -> None:
    filled = {"body": "x " * 500 + "\n\n[a]pprove  [e]dit > a\nApproved."}
    lines = question(waiting(filled), width)
    begin = next(n for n, line in enumerate(lines) if line.strip() == "arguments") + 1
    assert all(line.startswith(MARGIN) for line in lines[begin:])
    assert all(cell_len(line) <= max(width, 29) for line in lines[begin:])
    shown = "".join(line.removeprefix(MARGIN) for line in lines[begin:])
    assert shown.count("x ") >= 500, "all of it is shown"


def test_wide_letters_and_white_space_are_kept() -> None:
    assert wrap("漢字" * 10, 20) == ["漢字" * 5, "漢字" * 5]
    assert "".join(wrap(" a  b " * 10, 20)) == " a  b " * 10
    assert margined("", 80) == [MARGIN]


def test_the_agents_and_tools_names_are_escaped() -> None:
    lines = question(waiting({}, tool="send\n\x1b[1mApproved"), 80)
    assert any(r"send\n\u001b[1mApproved" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", "2026-11-21T13:30:00+00:00"),
        ("2h", "2026-11-21T14:00:00+00:00"),
        ("3d", "2026-11-24T12:00:00+00:00"),
        ("2W", "2026-12-05T12:00:00+00:00"),
        ("2026-12-31", "2027-01-01T00:00:00+00:00"),
        ("2026-11-21", "2026-11-22T00:00:00+00:00"),
        ("2026-12-31T18:00", "2026-12-31T18:00:00+00:00"),
        ("2026-12-31T18:00+02:00", "2026-12-31T16:00:00+00:00"),
    ],
)
def test_moments_are_read(text: str, expected: str) -> None:
    assert until(text, NOW).isoformat() == expected


@pytest.mark.parametrize("text", ["", "soon", "2", "h", "-2h", "2026-11-20", "0h", "999999w"])
def test_what_is_no_moment_to_come_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--until"):
        until(text, NOW)
