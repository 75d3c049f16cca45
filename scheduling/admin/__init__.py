"""The admin of schedules; one file a model."""

from __future__ import annotations

from scheduling.admin import agent_tab, firing, schedule

__all__ = ["agent_tab", "firing", "schedule"]
