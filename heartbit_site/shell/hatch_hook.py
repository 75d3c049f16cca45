"""Builds the assets of the pages when Heartbit is installed, or its wheel is made."""

from __future__ import annotations

import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class AssetsHook(BuildHookInterface[Any]):
    """Hatchling's hook."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build them; the wheel takes them along."""
        sys.path.insert(0, self.root)
        from heartbit_site.shell.assets import DIST, build  # noqa: PLC0415  known from here on

        build()
        build_data["artifacts"].append(f"/{DIST.relative_to(self.root).as_posix()}/**")
