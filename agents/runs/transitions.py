"""The one transition table of a run; ``docs/architecture/run-lifecycle.md`` draws it.

The database has a copy and rejects every other change of ``status`` (``sql/guards.sql``); a test
compares the table, the drawing and the copy.
"""

from __future__ import annotations

from agents.choices import RunStatus

TRANSITIONS: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.FAILED, RunStatus.CANCELLED}),
    RunStatus.RUNNING: frozenset(
        {
            RunStatus.WAITING,
            RunStatus.QUEUED,
            RunStatus.SUCCEEDED,
            RunStatus.FAILED,
            RunStatus.CANCELLED,
            RunStatus.QUARANTINED,
        }
    ),
    RunStatus.WAITING: frozenset({RunStatus.QUEUED, RunStatus.FAILED, RunStatus.CANCELLED}),
    RunStatus.SUCCEEDED: frozenset(),
    RunStatus.FAILED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
    RunStatus.QUARANTINED: frozenset({RunStatus.QUEUED, RunStatus.CANCELLED}),
}


def allowed_transitions() -> list[str]:
    """Return all allowed changes as ``source>target``, sorted, as in the database's guard."""
    return sorted(
        f"{source.value}>{target.value}"
        for source, targets in TRANSITIONS.items()
        for target in targets
    )
