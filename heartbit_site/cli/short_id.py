"""Short names of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agents.models import Run

if TYPE_CHECKING:
    from uuid import UUID

PREFIXES: Final = (13, 18)  # characters of an id that people are shown, if they name one run


def short_id(run_id: UUID) -> str:
    """Return the beginning of a run's id that names it alone."""
    text = str(run_id)
    for length in PREFIXES:
        digits = text[:length].replace("-", "")
        first, last = digits.ljust(32, "0"), digits.ljust(32, "f")
        if Run.objects.filter(pk__range=(first, last)).count() == 1:
            return text[:length]
    return text
