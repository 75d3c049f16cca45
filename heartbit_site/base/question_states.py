"""The states of a question that a person was asked about a tool call."""

from __future__ import annotations

from typing import Literal

QuestionStateName = Literal[
    "open",
    "approved",
    "edited",
    "answered",
    "denied",
    "retried",
    "confirmed",
    "skipped",
    "expired",
    "cancelled",
    "closed",
]
