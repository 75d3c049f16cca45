"""Models of the scheduling app; import them from this package."""

from __future__ import annotations

from scheduling.models.schedule import Firing, Schedule
