"""The browser and the site of ``tests.web``."""

from __future__ import annotations

from tests.web.conftest import _loop_of_playwright, browser, site

__all__ = ["_loop_of_playwright", "browser", "site"]
