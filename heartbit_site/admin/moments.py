"""Times of rows on the admin's pages, in the one way in which pages show a moment.

The theme writes a field of time in a format of its own, and has no setting for it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from unfold import fields
from unfold.templatetags import unfold_list

from heartbit_site.shell.moment import moment

_shown = fields.display_for_field


def show_field(value: Any, field: Any, empty_value_display: str) -> Any:
    """Return the value of a field for people."""
    if isinstance(value, datetime):
        return moment(value)
    return _shown(value, field, empty_value_display)


def show_moments() -> None:
    """Let lists and read-only fields show times as moments."""
    fields.display_for_field = unfold_list.display_for_field = show_field
