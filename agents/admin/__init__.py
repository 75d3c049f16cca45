"""The admin of agents and runs; one file a model."""

from __future__ import annotations

from agents.admin import agent, run, version, worker

__all__ = ["agent", "run", "version", "worker"]
