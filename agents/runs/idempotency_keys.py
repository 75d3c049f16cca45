"""Idempotency keys of runs: keys given by callers, and keys made by Heartbit.

Both share one column, so Heartbit's keys have a reserved prefix that callers cannot use: a caller
who guesses the key of a schedule's next occurrence cannot put another run in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from agents.models import Run
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import execute

#: How keys of Heartbit's own begin.
RESERVED = ("schedule:", "heartbit:")


class ReservedKeyError(HeartbitError):
    """A caller's idempotency key is one that Heartbit might make for itself."""


@dataclass(frozen=True, slots=True)
class InternalKey:
    """A key that Heartbit made; no surface makes one of what it was sent.

    Attributes:
        text: It begins with one of ``RESERVED``.
    """

    text: str


def stored_key(key: str | InternalKey | None) -> str | None:
    """Return the key as stored in a run's row.

    Raises:
        ReservedKeyError: A caller's key begins with a reserved prefix.
    """
    if isinstance(key, InternalKey):
        return key.text
    prefix = next((one for one in RESERVED if key is not None and key.startswith(one)), None)
    if prefix is not None:
        raise ReservedKeyError(
            f"The idempotency key begins with {prefix!r}, which Heartbit keeps for keys of its "
            "own: choose another one."
        )
    return key


def run_with(workspace: Workspace, key: str | None) -> UUID | None:
    """Return the run that a stored key has started, if there is one.

    Requests with the same key come here one after the other, until the caller's transaction ends.
    """
    if not key:
        return None
    execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, %s))", [key, workspace.pk])
    rows = Run.objects.filter(workspace=workspace, idempotency_key=key)
    return rows.values_list("pk", flat=True).first()
