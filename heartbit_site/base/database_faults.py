"""Transient faults of PostgreSQL, by which any caller recognizes that it is unavailable.

Usage::

    try:
        ...
    except Exception as error:
        if not is_away(error):
            raise
        ...  # wait, and try again

The journal's connections raise psycopg's errors, the ORM Django's, which wrap those. A Heartbit
error may be raised from either, or be one of several in a group: the whole chain is searched. The
drivers are not imported, because that would make every short command slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_LIBRARIES: Final = frozenset({"psycopg.Error", "django.db.utils.Error"})
#: Errors without a server code concern the connection: refused, lost, closed or unavailable.
_OF_CONNECTIONS: Final = frozenset(
    {
        "django.db.utils.OperationalError",
        "django.db.utils.InterfaceError",
        "psycopg.OperationalError",
        "psycopg.InterfaceError",
    }
)
#: Connection lost; no disk, memory or connection left; shut down, starting or cancelled; input and
#: output of the server.
_PASSING_CLASSES: Final = ("08", "53", "57", "58")
#: Read only, as in recovery; a transaction that timed out; a lock that was not available.
_PASSING_STATES: Final = frozenset({"25006", "25P03", "25P04", "55P03"})
_CONFLICTS: Final = frozenset({"40001", "40P01"})  # serialization failure, deadlock
_DISK_FULL: Final = "53100"
_MOST_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class DatabaseFault:
    """A transient fault of the database.

    Attributes:
        state: SQLSTATE; empty: the connection failed, and the server gave none.
        reason: The driver's message, in one line.
    """

    state: str
    reason: str

    @property
    def is_conflict(self) -> bool:
        """True if two transactions conflicted: the failed one succeeds when repeated at once."""
        return self.state in _CONFLICTS

    @property
    def is_disk_full(self) -> bool:
        """True if the database's disk is full."""
        return self.state == _DISK_FULL


def database_fault(error: BaseException) -> DatabaseFault | None:
    """Return the transient database fault behind an error, or None."""
    for one in _behind(error):
        names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(one).__mro__}
        if _LIBRARIES.isdisjoint(names):
            continue
        state = _state_of(one)
        if _passes(state) if state else not _OF_CONNECTIONS.isdisjoint(names):
            return DatabaseFault(state, one_line(one))
    return None


def is_away(error: BaseException) -> bool:
    """Return True if a transient database fault is behind an error."""
    return database_fault(error) is not None


def one_line(error: BaseException) -> str:
    """Return an error's message in one line, or the name of its type if it has none."""
    return " ".join(str(error).split())[:_MOST_CHARACTERS] or type(error).__name__


def _state_of(error: BaseException) -> str:
    """Return the SQLSTATE of an error; Django's has that of the driver's error that it wraps."""
    own = getattr(error, "sqlstate", None)
    return own or getattr(error.__cause__, "sqlstate", None) or ""


def _passes(state: str) -> bool:
    return state.startswith(_PASSING_CLASSES) or state in _PASSING_STATES or state in _CONFLICTS


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, those it was raised from, and the members of groups among them."""
    open_ones, seen = [error], set[int]()
    while open_ones:
        one = open_ones.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if one.__cause__ is not None:
            open_ones.append(one.__cause__)
        if isinstance(one, BaseExceptionGroup):
            open_ones.extend(one.exceptions)
