"""Executors of every installation: those that patterns of workflows call."""

from __future__ import annotations

from agents.workflows.repairs.decompose import judge_parts, merge_parts, note_parts
from agents.workflows.repairs.repair_loop import judge, lock_files, take

__all__ = ["judge", "judge_parts", "lock_files", "merge_parts", "note_parts", "take"]
