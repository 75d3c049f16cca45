"""The pages of ``tests.web``."""

from __future__ import annotations

from tests.web.conftest import _loop_of_playwright

__all__ = ["_loop_of_playwright"]
