"""Claim a run: the right to work on it, until the lease is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.journal.events import RecordedEvent, decode_row
from agents.loop import checkpoint
from agents.runs.pool import Pool, call

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from agents.choices import Placement
    from agents.loop.state import RunState


GENERATION = 3  # what this code understands; see ``heartbit_is_for``


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run this process now holds.

    Attributes:
        kind: What executes it (``agents.runtime.engines``).
        token: The lease; every write is refused once another claim has raised it.
        last_seq: The journal's end: this claim's own event.
        approve: Whether every tool call waits for a person.
        journal: The journal, oldest first, as stored: all of it, or what follows the checkpoint;
            ``history`` decodes it.
        checkpoint_seq: Where the checkpoint ends; 0: there is none.
        checkpoint: The fold up to there, as stored.
        thread: What was said on the run's conversation before: {task, output, steers} each.
        limited: Its workspace may have so many runs at work and no more.
    """

    id: UUID
    workspace_id: int
    kind: str
    version_id: int
    agent: str
    parent_id: UUID | None
    root_id: UUID
    queue: str
    model: str
    token: int
    last_seq: int
    approve: bool
    journal: Sequence[dict[str, Any]]
    thread: Sequence[dict[str, Any]]
    checkpoint_seq: int = 0
    checkpoint: dict[str, Any] | None = None
    limited: bool = False

    def restored(self) -> RunState | None:
        """The checkpoint's state, to which ``history`` is the rest; None: there is none."""
        return None if self.checkpoint is None else checkpoint.decode(self.checkpoint)

    def history(self) -> tuple[RecordedEvent, ...]:
        """The journal, decoded.

        Raises:
            KeyError: A newer Heartbit wrote an event that this one does not know.
            pydantic.ValidationError: The same, for an event's form.
        """
        return tuple(map(decode_row, self.journal))


@dataclass(frozen=True, slots=True)
class SuspectRun:
    """The named run is queued, but its workers died too often: it may only be tried alone."""

    id: UUID


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims: a process's heartbeat row and what it serves.

    Attributes:
        alone: It works on the named run and no other, so it may take a suspect.
        default_model: For runs that name no model, if their workspace names none either.
        explicit_model: For such runs whatever their workspace names; empty: it decides.
    """

    worker_id: int
    worker_name: str
    home: Placement
    queues: tuple[str, ...]
    default_model: str
    explicit_model: str = ""
    alone: bool = False


async def claim(
    pool: Pool, claimant: Claimant, run_id: UUID, *, task_id: str
) -> ClaimedRun | SuspectRun | None:
    """Take the named run or, on the fleet, one whose turn it is; None when there is none."""
    row = await call(
        pool,
        "SELECT * FROM heartbit_claim(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            run_id,
            claimant.home.value,
            list(claimant.queues),
            claimant.worker_id,
            claimant.worker_name,
            task_id,
            claimant.default_model,
            claimant.explicit_model,
            GENERATION,
            claimant.alone,
            checkpoint.FORMAT,
        ),
    )
    if row is None:
        return None
    if row["suspect"]:
        return SuspectRun(row["run_id"])
    return ClaimedRun(
        id=row["run_id"],
        workspace_id=row["workspace_id"],
        kind=row["kind"],
        version_id=row["version_id"],
        agent=row["agent"],
        parent_id=row["parent_id"],
        root_id=row["root_id"],
        queue=row["queue"],
        model=row["model"],
        token=row["lease_token"],
        last_seq=row["last_seq"],
        approve=row["approve"],
        journal=row["events"],
        thread=row["history"],
        checkpoint_seq=row["checkpoint_seq"],
        checkpoint=row["checkpoint"],
        limited=row["limited"],
    )
