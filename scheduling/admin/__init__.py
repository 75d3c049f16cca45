"""Admin of schedules, one module per model."""

from __future__ import annotations

from scheduling.admin import firing, schedule

__all__ = ["firing", "schedule"]
