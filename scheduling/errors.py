"""What can be wrong with schedules, as sentences for people."""

from __future__ import annotations

from heartbit_site.base.errors import ConfigurationError, ConflictError, NotFoundError


class ScheduleError(ConfigurationError):
    """A schedule cannot be as it is described."""


class ScheduleNotFoundError(NotFoundError):
    """The workspace has no such schedule."""


class ScheduleConflictError(ConflictError):
    """What is asked for is not possible with the schedule as it stands."""
