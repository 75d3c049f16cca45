"""Executors of every installation: those that patterns of workflows call."""

from __future__ import annotations

from agents.workflows.repairs.repair_loop import judge, lock_files, take

__all__ = ["judge", "lock_files", "take"]
