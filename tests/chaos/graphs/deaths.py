"""Deaths of a slice at one write of a run's tree: before the write, or just after its commit."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from agents.errors import LeaseLostError
from agents.runs.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(slots=True)
class Death:
    """The slice that makes a write of this number writes nothing more.

    Attributes:
        number: Number of the write, from 1; 0: no slice dies.
        is_after: True if the write is committed, and only its reply is lost.
        writes: Writes so far.
        victim: Lease of the slice that died; None: none has.
    """

    number: int = 0
    is_after: bool = False
    writes: int = 0
    victim: Lease | None = None

    def begin(self, lease: Lease) -> bool:
        """Count a write; return True if the slice dies with its reply."""
        self.writes += 1
        is_last = self.writes == self.number
        if is_last:
            self.victim = lease
            if not self.is_after:
                raise LeaseLostError("the worker died before a write")
        return is_last


@contextmanager
def dying(death: Death) -> Iterator[None]:
    """Let slices die in this process."""

    def from_loop(original: Callable[..., Any]) -> Callable[..., Any]:
        async def write(lease: Lease, *arguments: Any, **options: Any) -> Any:
            is_last = death.begin(lease)
            return _reply(await original(lease, *arguments, **options), is_last=is_last)

        return write

    def from_thread(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(lease: Lease, *arguments: Any) -> Any:
            is_last = death.begin(lease)
            return _reply(original(lease, *arguments), is_last=is_last)

        return write

    with (
        patch.object(Lease, "_write", from_loop(Lease._write)),
        patch.object(Lease, "record_here", from_thread(Lease.record_here)),
    ):
        yield


def _reply(found: Any, *, is_last: bool) -> Any:
    if is_last:
        raise LeaseLostError("the worker died after a write")
    return found
