"""Who goes on with a run whose process has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.choices import TERMINAL, Placement
from agents.errors import RunStateError
from agents.runtime.executor import executor_of

if TYPE_CHECKING:
    from uuid import UUID

    from agents.models import Run


@dataclass(frozen=True, slots=True)
class Resumption:
    """What is to be done about a live run.

    Attributes:
        root_id: The tree that is meant, whichever of its runs was named.
        takes_over: Whether the calling process should execute it: it is local, and no process that
            lives looks after it.
        executor: The process that does, as ``host:pid``; empty when it is the caller's turn, or
            the fleet's.
    """

    root_id: UUID
    takes_over: bool
    executor: str = ""


def resume_run(run: Run) -> Resumption:
    """Find out who has to go on with a run. Nothing is written: claims decide who has it.

    Raises:
        RunStateError: Its tree has ended.
    """
    root = run.root
    if root.status in TERMINAL:
        past = "was " if root.status in ("cancelled", "quarantined") else ""
        raise RunStateError(
            f"Run {root.pk} {past}{root.status} already: `heartbit result {root.pk}` shows how; "
            "start the task again to repeat it."
        )
    if root.home == Placement.FLEET:
        return Resumption(root.pk, takes_over=False)
    executor = executor_of(root.pk)
    return Resumption(root.pk, takes_over=executor is None, executor=executor or "")
