"""The runtime in this process, agents, and what the wire server was asked."""

from __future__ import annotations

from tests.runtime.conftest import agent, studio

__all__ = ["agent", "studio"]
