"""The admin's theme (django-unfold); its pages stand in the frame of ``heartbit_site.shell``."""

from __future__ import annotations

from typing import Any

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Heartbit",
    "SITE_HEADER": "Heartbit",
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
}
