"""Late imports: modules that need Django, so that `--help` never pays for it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def load(name: str) -> ModuleType:
    """A module of `heartbit_site.cli` that may import models; call it after `begin`."""
    return importlib.import_module(f"heartbit_site.cli.{name}")
