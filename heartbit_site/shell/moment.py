"""The one way in which pages show a moment.

Today's are a time; others have their day, and their year unless it is this one. The zone is the
reader's (``shell.zone``) unless another is named, which is then written beside it. Hovering gives
the whole of it. ``static/heartbit/web/moment.js`` does the same in scripts.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString


def moment(
    at: datetime | None,
    *,
    zone: str = "",
    beside: str = "",
    missing: str = "-",
    seconds: bool = False,
) -> SafeString | str:
    """Return a moment as an element.

    Args:
        at: With a zone; None: ``missing``.
        zone: Name of another zone than the reader's, e.g. a schedule's own.
        beside: Name of a zone in which the moment is shown as well, unless it is the same there.
        missing: What is shown without a moment.
        seconds: True for moments that differ in their seconds.
    """
    if at is None:
        return missing
    if beside:
        one = moment(at, seconds=seconds)
        if at.astimezone(ZoneInfo(beside)).utcoffset() == timezone.localtime(at).utcoffset():
            return one
        there = moment(at, zone=beside, seconds=seconds)
        return format_html('{} <span class="quiet">{}</span>', one, there)
    place: tzinfo = ZoneInfo(zone) if zone else timezone.get_current_timezone()
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.astimezone(UTC).isoformat(),
        whole(at, place),
        short(at, place, seconds=seconds) + (f" {name_of(place)}" if zone else ""),
    )


def day(on: date) -> SafeString:
    """Return a day as an element: 26 Nov."""
    return format_html('<time datetime="{}">{}</time>', on, f"{on.day} {on:%b}")


def short(at: datetime, zone: tzinfo | None = None, *, seconds: bool = False) -> str:
    """Return a moment as text: 17:05, 26 Nov 17:05, or 26 Nov 2025, 17:05; or 17:05:30."""
    place = zone or timezone.get_current_timezone()
    local, today = at.astimezone(place), datetime.now(place)
    clock = f"{local:%H:%M:%S}" if seconds else f"{local:%H:%M}"
    if local.date() == today.date():
        return clock
    day = f"{local.day} {local:%b}"
    return f"{day} {clock}" if local.year == today.year else f"{day} {local.year}, {clock}"


def whole(at: datetime, zone: tzinfo | None = None) -> str:
    """Return everything about a moment: Thu, 26 Nov 2026, 17:05:21 CET (Europe/Berlin)."""
    place = zone or timezone.get_current_timezone()
    local = at.astimezone(place)
    named = f" ({name_of(place)})" if name_of(place) != local.tzname() else ""
    return f"{local:%a}, {local.day} {local:%b %Y, %H:%M:%S} {local.tzname()}{named}"


def name_of(zone: tzinfo) -> str:
    """Return a zone's name, e.g. Europe/Berlin."""
    return getattr(zone, "key", None) or str(zone)
