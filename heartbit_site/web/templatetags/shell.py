"""Parts that every page is built of: times, icons, and regions that stay live."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling.recurrence import time_zone

register = template.Library()


@register.simple_tag
def moment(value: datetime | None, zone: str = "") -> SafeString | str:
    """Return a time as an element: today's as a time, others as a day and a time."""
    if value is None:
        return "-"
    there = value.astimezone(time_zone(zone) if zone else timezone.get_current_timezone())
    today = timezone.now().astimezone(there.tzinfo).date() == there.date()
    shown = f"{there:%H:%M}" if today else f"{there:%-d %b, %H:%M}"
    named = f"{shown} ({zone})" if zone else shown
    title = f"{there:%A %-d %B %Y, %H:%M:%S} ({there.tzname()})"
    return format_html('<time datetime="{}" title="{}">{}</time>', value.isoformat(), title, named)


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return an icon by its name among Material Symbols."""
    return format_html('<span class="icon" aria-hidden="true">{}</span>', name)


@register.simple_block_tag
def live(content: str, region: str, kinds: str) -> SafeString:
    """Return a region that is drawn again when something of these kinds happens."""
    return format_html('<div id="{}" data-live="{}">{}</div>', region, kinds, content)
