"""Idempotency keys of runs: keys given by callers, and keys made by Heartbit.

Both share one column. Callers cannot use the reserved prefixes of Heartbit's keys, so no caller can
replace a schedule's next occurrence by guessing its key.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from agents.models import Run
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import execute

#: Prefixes of Heartbit's own keys.
RESERVED = ("schedule:", "heartbit:")


class ReservedKeyError(HeartbitError):
    """A caller's idempotency key begins with a prefix of Heartbit's own keys."""


@dataclass(frozen=True, slots=True)
class InternalKey:
    """A key that Heartbit made; never built from a request.

    Attributes:
        text: The key, which begins with one of ``RESERVED``.
        is_fresh: True if no earlier request can have had it, so that none is looked for.
    """

    text: str
    is_fresh: bool = False


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
            f"The idempotency key begins with {prefix!r}, which is reserved for Heartbit's own "
            "keys: choose another one."
        )
    return key


def run_with(workspace: Workspace, key: str | None) -> UUID | None:
    """Return the run that was started with a stored key, if there is one.

    Concurrent requests with the same key wait here until the caller's transaction ends.
    """
    if not key:
        return None
    execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, %s))", [key, workspace.pk])
    rows = Run.objects.filter(workspace=workspace, idempotency_key=key)
    return rows.values_list("pk", flat=True).first()
