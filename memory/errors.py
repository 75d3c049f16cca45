"""Errors of memories."""

from __future__ import annotations

from heartbit_site.base.errors import ConflictError, HeartbitError, NotFoundError


class InvalidMemoryError(HeartbitError):
    """The memory cannot be stored as it is."""


class MemoryNotFoundError(NotFoundError):
    """The caller reaches no such memory."""


class MemoryStateError(ConflictError):
    """The memory is forgotten, or has no change to undo."""
