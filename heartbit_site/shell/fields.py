"""Fields of the forms of all pages."""

from __future__ import annotations

from typing import Any

from django import forms


class LongText(forms.CharField):
    """A text that is stored as it was written; browsers end its lines with CR LF."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "strip": False})

    def to_python(self, value: Any) -> str:
        """Return the text with LF line ends; white space alone is an empty string."""
        text = str(super().to_python(value)).replace("\r\n", "\n")
        return text if text.strip() else ""
