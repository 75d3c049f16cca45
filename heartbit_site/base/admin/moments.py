"""Points in time in forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms

from heartbit_site.base.moments import TooFarError, to_utc

if TYPE_CHECKING:
    from datetime import datetime


def checked(moment: datetime | None) -> datetime | None:
    """Return what a form was given, in UTC; None: nothing.

    Raises:
        ValidationError: It is out of range.
    """
    try:
        return to_utc(moment) if moment is not None else None
    except TooFarError as error:
        raise forms.ValidationError(str(error)) from None
