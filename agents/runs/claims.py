"""Claims of runs: the right to execute a run until the lease is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from agents.journal.events import RecordedEvent, decode_row
from agents.loop import checkpoint
from agents.loop.state import RunState
from agents.runs.pool import Pool, call

if TYPE_CHECKING:
    from agents.choices import Placement


GENERATION = 3  # version of runs that this code can execute; see ``heartbit_is_for``


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run leased by this process.

    Attributes:
        kind: Kind of engine (``agents.runtime.execution.engines``).
        token: Fencing token; writes are refused once a later claim has raised it.
        last_seq: End of the journal: the event of this claim.
        approve: True if every tool call needs an approval.
        journal: Stored events, oldest first: all of them, or those after the checkpoint;
            ``history`` decodes them.
        checkpoint_seq: Last sequence number in the checkpoint; 0: there is none.
        checkpoint: Stored fold of the journal up to that number.
        thread: Earlier runs of the conversation: {task, output, steers} each.
        limited: True if the workspace has a limit on concurrent runs.
        user_id: The person who started the run tree; None: no person did.
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
    user_id: int | None = None
    conversation_id: UUID | None = None

    def restored(self) -> RunState | None:
        """Return the checkpoint's state, which ``history`` continues; None: no checkpoint."""
        return None if self.checkpoint is None else checkpoint.decode(self.kind, self.checkpoint)

    def history(self, *, after: int = 0) -> tuple[RecordedEvent, ...]:
        """Return the decoded journal.

        Args:
            after: Sequence number of the last event that is left out.

        Raises:
            KeyError: A newer Heartbit wrote an event of an unknown type.
            pydantic.ValidationError: A newer Heartbit wrote an event in an unknown form.
        """
        return tuple(decode_row(row) for row in self.journal if row["seq"] > after)


@dataclass(frozen=True, slots=True)
class SuspectRun:
    """The named run is queued, but suspect: only an isolated process may claim it."""

    id: UUID


@dataclass(frozen=True, slots=True)
class Claimant:
    """A claiming process: its heartbeat row and the queues it serves.

    Attributes:
        alone: True if it was started to execute only certain runs, so that it may claim suspects.
        default_model: Model of runs without a model, if their workspace has no default either.
        explicit_model: Model of runs without a model that overrides the workspace's; empty: none.
    """

    worker_id: int
    worker_name: str
    home: Placement
    queues: tuple[str, ...]
    default_model: str
    explicit_model: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class NextClaim:
    """Claimant of the run that the end of another run wakes, and its Celery task."""

    claimant: Claimant
    task_id: str


async def claim(
    pool: Pool, claimant: Claimant, run_id: UUID, *, task_id: str
) -> ClaimedRun | SuspectRun | None:
    """Claim the named run or, on the fleet, the next one in line; None if there is none."""
    row = await call(
        pool,
        "SELECT * FROM heartbit_claim(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (run_id, *claim_parameters(claimant, task_id)),
    )
    return None if row is None else decode_claim(row)


def claim_parameters(claimant: Claimant, task_id: str) -> tuple[Any, ...]:
    """Return the parameters of ``heartbit_claim`` after the run's id."""
    return (
        claimant.home.value,
        list(claimant.queues),
        claimant.worker_id,
        claimant.worker_name,
        task_id,
        claimant.default_model,
        claimant.explicit_model,
        GENERATION,
        claimant.alone,
        checkpoint.current_format(),
    )


def decode_claim(row: Mapping[str, Any]) -> ClaimedRun | SuspectRun:
    """Return the claimed run from a row of ``heartbit_claim``, possibly decoded from JSON."""
    if row["suspect"]:
        return SuspectRun(_id(row["run_id"]))
    return ClaimedRun(
        id=_id(row["run_id"]),
        workspace_id=row["workspace_id"],
        kind=row["kind"],
        version_id=row["version_id"],
        agent=row["agent"],
        parent_id=_optional_id(row["parent_id"]),
        root_id=_id(row["root_id"]),
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
        user_id=row["user_id"],
        conversation_id=_optional_id(row["conversation_id"]),
    )


def _id(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def _optional_id(value: UUID | str | None) -> UUID | None:
    return None if value is None else _id(value)
