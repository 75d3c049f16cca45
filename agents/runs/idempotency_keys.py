"""Idempotency keys of runs: those that callers give, and those that Heartbit makes for itself.

Both stand in one column, so what Heartbit makes begins with a prefix that nobody else may give:
whoever guesses the key of a schedule's next slot cannot put a run of theirs in its place.
"""

from __future__ import annotations

from dataclasses import dataclass

from heartbit_site.base.errors import HeartbitError

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
    """What stands in a run's row.

    Raises:
        ReservedKeyError: A caller gave it, and its beginning is reserved.
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
