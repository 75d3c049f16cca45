"""Points in time in forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms

from heartbit_site.base.moments import TooFarError, to_utc

if TYPE_CHECKING:
    from datetime import datetime


def checked(moment: datetime | None) -> datetime | None:
    """Return a form's time in UTC; None if the field is empty.

    Raises:
        ValidationError: It is too far in the past or future.
    """
    try:
        return to_utc(moment) if moment is not None else None
    except TooFarError as error:
        raise forms.ValidationError(str(error)) from None
