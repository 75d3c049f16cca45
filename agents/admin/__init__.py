"""The admin of agents and runs; one file a subject."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for module in iter_modules(__path__, f"{__name__}."):
    import_module(module.name)  # registers its classes
