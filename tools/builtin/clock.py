"""Current time for models."""

from __future__ import annotations

import datetime
import difflib
import functools
import zoneinfo
from typing import Annotated

from pydantic import Field

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.toolspec import Effect, tool


class UnknownTimeZoneError(HeartbitError):
    """No time zone has this name."""


# Pure although results differ: a repeated reading is as good as the first.
@tool(effect=Effect.PURE, timeout_seconds=5, tags=("builtin",), labels=())
def current_time(
    time_zone: Annotated[
        str, Field(description="IANA name such as Europe/Berlin or America/New_York.")
    ] = "UTC",
) -> str:
    """Get the current date, time and weekday, in UTC or in a time zone of your choice.

    Use it before any statement or calculation that depends on today's date.
    """
    now = datetime.datetime.now(zone_of(time_zone))
    return f"{now.isoformat(timespec='seconds')} ({now:%A}, time zone {time_zone})"


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """Return the time zone of an IANA name.

    Raises:
        UnknownTimeZoneError: There is none of that name.
    """
    # Checked against the list first: ``ZoneInfo`` opens a file of this name.
    if name not in _names():
        near = difflib.get_close_matches(name[:60], _names(), n=3, cutoff=0.4)
        hint = f" The closest are: {', '.join(near)}." if near else ""
        raise UnknownTimeZoneError(f"There is no time zone {name[:60]!r}.{hint}")
    return zoneinfo.ZoneInfo(name)


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
