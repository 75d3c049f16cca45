"""The browser and the site of ``tests.web``."""

from __future__ import annotations

from tests.web.conftest import browser, site

__all__ = ["browser", "site"]
