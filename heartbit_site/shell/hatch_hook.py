"""Builds the assets of the pages when Heartbit is installed, or its wheel is made.

The wheel carries the documentation too; in a checkout `make docs` builds it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class AssetsHook(BuildHookInterface[Any]):
    """Hatchling's hook."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build them; the wheel takes them along."""
        sys.path.insert(0, self.root)
        from heartbit_site.documents import build as site  # noqa: PLC0415  known from here on
        from heartbit_site.shell import assets  # noqa: PLC0415

        assets.build()
        build_data["artifacts"].append(f"/{assets.DIST.relative_to(self.root).as_posix()}/**")
        if version != "editable":
            site.build(Path(self.root))
            inside = site.INSTALLED.relative_to(self.root).as_posix()
            build_data["force_include"][str(site.SITE)] = inside
