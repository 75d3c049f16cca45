"""What people do to runs, as the audit has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.base import audit

if TYPE_CHECKING:
    from agents.models import Run
    from heartbit_site.base.audit import Actor


def record_of_run(by: Actor, verb: str, run: Run, /, **details: Any) -> None:
    """Write an entry, in the caller's transaction.

    What was said to a run, or changed in a fork, stays in its journal, which goes when the run is
    forgotten: the audit stays, so it holds none of it.

    Args:
        by: Who did it.
        verb: What: ``cancel`` becomes ``run.cancel``.
        run: To which.
        details: JSON; never a text that somebody wrote to an agent.
    """
    audit.record(
        by,
        f"run.{verb}",
        workspace=run.workspace,
        target=f"run:{run.pk}",
        label=run.agent,
        details=details,
    )
