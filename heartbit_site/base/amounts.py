"""Formatters of counts, durations and money. Pure."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Final

_LEAST: Final = Decimal("0.0001")


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 agent``, ``2 agents``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration(span: timedelta | float) -> str:
    """Return a time span as text, rounded more the longer it is.

    Such as ``250 ms``, ``3.2 s``, ``36 s``, ``2 h 5 min``.

    Args:
        span: A difference of times, or seconds.
    """
    seconds = max(0.0, span if isinstance(span, int | float) else span.total_seconds())
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{round(hours / 24)} days"


def money(amount: Decimal) -> str:
    """Return an amount in US dollars; amounts below one dollar have four decimals."""
    if 0 < amount < _LEAST:
        return f"under ${_LEAST}"
    return f"${amount:.2f}" if amount >= 1 or not amount else f"${amount:.4f}"
