"""Find the process that has to continue an interrupted run."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from agents.choices import TERMINAL, Placement
from agents.errors import RunStateError
from agents.models import Run
from agents.runtime.execution.executor import executor_of
from agents.runtime.toolset.program_tools import refuse_without_tools_of_tree


@dataclass(frozen=True, slots=True)
class Resumption:
    """Decision on how a live run continues.

    Attributes:
        root_id: Root of the tree, whichever of its runs was named.
        takes_over: True if the calling process should execute the run: it is local, and no running
            process executes it.
        executor: The executing process as ``host:pid``; empty if that is the caller or the fleet.
    """

    root_id: UUID
    takes_over: bool
    executor: str = ""


def resume_run(run: Run) -> Resumption:
    """Return which process continues a run. Nothing is written: claims decide.

    Raises:
        RunStateError: The run's tree has ended.
        ProgramToolsError: The calling process should execute the run, and lacks a tool that only
            the run's program has.
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
    if executor is None:
        refuse_without_tools_of_tree(root)
    return Resumption(root.pk, takes_over=executor is None, executor=executor or "")
