"""Identifiers: time-ordered UUIDs (RFC 9562, version 7), so that indexes stay compact."""

from __future__ import annotations

from uuid import UUID

from uuid_utils import compat


def new_id() -> UUID:
    """Return a fresh UUIDv7; the ids of one process sort in the order of their creation."""
    return compat.uuid7()
