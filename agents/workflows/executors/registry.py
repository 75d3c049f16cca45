"""Registry of executors by name, filled from the modules of apps and packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agents.workflows.executors.executor import Executor, executor_of
from heartbit_site.base.errors import ConfigurationError
from tools.texts.near_names import hint


class UnknownExecutorError(ConfigurationError):
    """No executor of this process has the name."""


class ExecutorRegistry(Mapping[str, Executor]):
    """Executors by name.

    Args:
        executors: Executors to begin with.
    """

    def __init__(self, executors: Iterable[Executor] = ()) -> None:
        self._found: dict[str, Executor] = {}
        for one in executors:
            self.add(one)

    def add(self, executor: Executor) -> None:
        """Add an executor; the same one may be added again.

        Raises:
            ConfigurationError: Another executor has the name.
        """
        other = self._found.setdefault(executor.name, executor)
        if other is not executor:
            raise ConfigurationError(
                f"Two executors are named {executor.name!r}, in {other.source} and "
                f"{executor.source}: give one of them another name."
            )

    def add_all(self, values: Iterable[object]) -> int:
        """Add the executors among the values of a module, and return their number."""
        found = list(executors_in(values))
        for one in found:
            self.add(one)
        return len(found)

    def find(self, name: str, *, pinned: str = "") -> Executor:
        """Return an executor.

        Args:
            name: Its name.
            pinned: Its interface hash in a workflow's version; empty: any.

        Raises:
            UnknownExecutorError: There is none, or its interface has changed since.
        """
        if name not in self._found:
            raise UnknownExecutorError(
                f"The executor {name!r} is unknown to this process; "
                f"{hint(name, sorted(self._found), most=10)}"
            )
        executor = self._found[name]
        if pinned and executor.interface_hash != pinned:
            raise UnknownExecutorError(
                f"The executor {name!r} has another interface than the workflow's version: publish "
                "the workflow again, or run a worker with the code of that time."
            )
        return executor

    def __getitem__(self, name: str) -> Executor:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def executors_in(values: Iterable[object]) -> Iterator[Executor]:
    """Yield the executors of marked functions and classes, each once."""
    seen: set[int] = set()
    for value in values:
        found = executor_of(value)
        if found is not None and id(found) not in seen:
            seen.add(id(found))
            yield found
