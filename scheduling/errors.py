"""Exceptions of schedules."""

from __future__ import annotations

from heartbit_site.base.errors import ConfigurationError, ConflictError, NotFoundError


class ScheduleError(ConfigurationError):
    """A schedule is not valid."""


class ScheduleNotFoundError(NotFoundError):
    """The workspace has no such schedule."""


class ScheduleConflictError(ConflictError):
    """The schedule's state does not allow the action."""
