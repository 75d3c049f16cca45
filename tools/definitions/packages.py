"""Tools of installed packages: the entry point group ``heartbit.tools``.

A package names a module, or a function or class marked with ``@tool``::

    [project.entry-points."heartbit.tools"]
    weather = "acme_weather.tools"

Entries that cannot be loaded are logged and left out, and ``broken_packages`` returns them: a
broken package must not stop every process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Final

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.toolspec import Origin, ToolSpec
from tools.definitions.isolation import Isolation
from tools.definitions.registry import Registry, marked

GROUP: Final = "heartbit.tools"

logger = logging.getLogger(__name__)
_broken: dict[str, BrokenPackage] = {}


@dataclass(frozen=True, slots=True)
class BrokenPackage:
    """An entry point whose tools are left out.

    Attributes:
        name: The package with its version.
        sentence: The reason, for people.
    """

    name: str
    sentence: str


def broken_packages() -> tuple[BrokenPackage, ...]:
    """Return the entry points that this process could not load when it started."""
    return tuple(_broken.values())


def packaged_tools() -> Iterator[ToolSpec]:
    """Yield the tools of every installed package, with the package as their source."""
    _broken.clear()
    for entry in entry_points(group=GROUP):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.module
        found: list[ToolSpec] = []
        with Isolation() as isolation:
            found = [replace(spec, source=package, origin=Origin.PACKAGE) for spec in _specs(entry)]
        if isolation.error is None:
            yield from found
        else:
            sentence = f"The tools of {package} ({entry.value}) are left out: {isolation.message}"
            _broken[f"{package} {entry.name}"] = BrokenPackage(package, sentence)
            logger.error("%s", sentence)


def _specs(entry: EntryPoint) -> list[ToolSpec]:
    """Return the tools of an entry point, after checking that all of them can be registered.

    Raises:
        ConfigurationError: The entry point has no tool, or one that cannot be used.
    """
    target = entry.load()
    values = vars(target).values() if isinstance(target, ModuleType) else [target]
    specs = Registry(marked(values))  # raises before any of them is registered
    if not specs:
        raise ConfigurationError(f"{entry.value} has nothing marked with @tool.")
    return list(specs.values())
