"""Models of the scheduling app; import them from this package. One noun a file."""

from __future__ import annotations

from scheduling.models.firing import Firing
from scheduling.models.schedule import Schedule
