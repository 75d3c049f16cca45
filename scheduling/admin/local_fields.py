"""Fields for a date and a time of day in a zone that is named elsewhere on the form."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSplitDateTimeWidget


class LocalTimeWidget(UnfoldAdminSplitDateTimeWidget):  # type: ignore[misc]
    """The browser's own date and clock; the admin's would offer UTC's *Now* and *Today*."""

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        for part, kind, shape in zip(
            self.widgets, ("date", "time"), ("%Y-%m-%d", "%H:%M:%S"), strict=True
        ):
            part.input_type, part.format = kind, shape
        self.widgets[1].attrs["step"] = 1  # with seconds


class StackedTimeWidget(LocalTimeWidget):
    """Date and time one below the other, for dialogs, which are narrow."""

    template_name = "unfold/widgets/split_datetime_vertical.html"


class LocalTimeField(forms.SplitDateTimeField):
    """Local date and time without a zone, which the form knows."""

    def compress(self, data_list: Any) -> datetime | None:
        """Return date and time as one value, as they were written."""
        if not data_list:
            return None
        day, time = data_list
        if day in self.empty_values:
            raise forms.ValidationError(self.error_messages["invalid_date"], code="invalid_date")
        if time in self.empty_values:
            raise forms.ValidationError(self.error_messages["invalid_time"], code="invalid_time")
        return datetime.combine(day, time)
