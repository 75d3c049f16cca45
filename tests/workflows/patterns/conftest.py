"""Runs of patterns."""

from __future__ import annotations

from tests.runtime.conftest import agent, studio

__all__ = ["agent", "studio"]
