"""Doors: the ways in which a workload is handed to Heartbit.

A door is a module of this package with one subclass of ``Door``; there is no list to add it to.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    import psutil

    from heartbit_site.base.models import Workspace
    from tests.bench.workloads import Workload


@dataclass(frozen=True, slots=True)
class Aim:
    """What is to be reached: ``times`` as much overhead as another way has in the same run.

    Attributes:
        beside: The other way: a floor, or a door.
        times: The ratio; None: not the ratio, but the difference counts.
        more_ms: The difference.
    """

    beside: str
    times: float | None = None
    more_ms: float | None = None


class Door(ABC):
    """One way in, open for as long as the block; one thread at a time.

    Attributes:
        name: For the tables.
        floor: The floor it is compared with; ``bare Celery``: the worker executes its runs.
        place: Its column in the table, from the left.
        turn: Runs before the next way's turn.
        aims: By workload's name; ``""``: of all others.
        ids: Runs so far, where the door knows them.
    """

    name: ClassVar[str]
    floor: ClassVar[str]
    place: ClassVar[int]
    turn: ClassVar[int] = 5
    aims: ClassVar[Mapping[str, Aim]] = MappingProxyType({})

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.ids: list[UUID] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:  # noqa: B027  not every door has something to close
        """Close it."""

    @abstractmethod
    def take(self, workload: Workload) -> float:
        """Do the workload once, check that it succeeded, and return how many seconds it took."""

    def takes(self, workload: Workload) -> bool:
        """Return True if this workload can be done through this door."""
        del workload
        return True

    def aim(self, workload: Workload) -> Aim | None:
        """Return what is to be reached with a workload; nothing with one beside the targets'."""
        if workload.extra:
            return None
        return self.aims.get(workload.name, self.aims.get(""))

    @property
    def processes(self) -> list[psutil.Process]:
        """Processes of its own, where its part of the work is done."""
        return []


def doors() -> list[type[Door]]:
    """Return all of them, in the order of their columns."""
    found: list[type[Door]] = []
    for name in (f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)):
        values = vars(importlib.import_module(name)).values()
        classes = (one for one in values if isinstance(one, type) and one.__module__ == name)
        found.extend(one for one in classes if issubclass(one, Door))
    return sorted(found, key=lambda door: door.place)
