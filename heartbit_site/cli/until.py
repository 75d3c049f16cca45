"""`--until`: a moment as people write it. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.moments import TooFarError, to_utc

_SPAN: Final = re.compile(r"(\d{1,6})\s*([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class UntilError(HeartbitError):
    """The text names no moment in the future."""


def moment(text: str, now: datetime) -> datetime:
    """`2h`, `3d`, `2026-12-31` (that day included) or `2026-12-31T18:00`, after `now`.

    Args:
        text: What a person wrote; a time without a zone is in `now`'s.
        now: The present, with its zone.

    Raises:
        UntilError: It is none of these, or is past.
    """
    word = text.strip()
    try:
        found = to_utc(_moment(word, now))
    except TooFarError as error:
        raise UntilError(f"--until {text!r}: {error}") from None
    except (ValueError, OverflowError):
        raise UntilError(
            f"--until {text!r} is no time: write 90m, 2h, 3d, 2026-12-31 or 2026-12-31T18:00."
        ) from None
    if found <= now:
        raise UntilError(f"--until {text!r} is in the past: name a moment to come.")
    return found


def _moment(word: str, now: datetime) -> datetime:
    span = _SPAN.fullmatch(word.lower())
    if span:
        return now + timedelta(**{_UNITS[span[2]]: int(span[1])})
    found = datetime.fromisoformat(word)
    found = found if found.tzinfo else found.replace(tzinfo=now.tzinfo)
    return found + timedelta(days=1) if _DAY.fullmatch(word) else found
