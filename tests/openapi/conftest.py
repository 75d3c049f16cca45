"""Agents, and a process that executes their runs, as for the tests of the runtime."""

from __future__ import annotations

from tests.runtime.conftest import agent, studio

__all__ = ["agent", "studio"]
