"""Runs of other kinds than an agent's."""

from __future__ import annotations

from tests.admin.conftest import browser
from tests.runtime.conftest import agent, studio

__all__ = ["agent", "browser", "studio"]
