"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check.

    Attributes:
        name: What was looked at.
        status: `warn` is worth knowing, `fail` has to be fixed.
        detail: What was found.
        fix: A step that corrects it; empty if nothing is wrong.
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""
