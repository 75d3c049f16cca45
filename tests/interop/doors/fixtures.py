"""Workflows that conformance suites call by their names."""

from __future__ import annotations

from typing import Any, Final

FIXTURES: Final[tuple[dict[str, Any], ...]] = ()
