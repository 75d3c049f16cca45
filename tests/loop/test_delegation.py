"""Text for an orchestrator's model about the end of each sub-agent's run."""

from __future__ import annotations

from typing import Any

import pytest

from agents.loop.delegation import results
from heartbit_site.base.suspensions import WaitOutcome


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"status": "succeeded", "output": "Paris."}, "Paris."),
        ({"status": "succeeded", "output": ""}, "(no text)"),
        ({"status": "expired"}, "(did not finish in time)"),
        ({"status": "cancelled"}, "(cancelled: no reason given)"),
        ({"status": "failed", "error": {"message": "It broke."}}, "(failed: It broke.)"),
        (
            {"status": "failed", "error": {"message": "It broke."}, "output": "One of two"},
            "(failed: It broke.) So far: One of two",
        ),
    ],
)
def test_each_end_is_said(value: dict[str, Any], text: str) -> None:
    assert results((WaitOutcome("writer", value), WaitOutcome("critic", value))) == (
        f"writer: {text}\n\ncritic: {text}"
    )
