"""Configuration of the run executor of one process."""

from __future__ import annotations

from dataclasses import dataclass

from agents.choices import Placement


@dataclass(frozen=True, slots=True)
class ExecutorConfig:
    """Configuration of a run executor.

    Attributes:
        database_url: Connection of the journal's pool.
        direct_url: Connection of the control session; never through a transaction pooler.
        slots: Largest number of runs held at once.
        lease_seconds: Time without a heartbeat after which the process counts as lost.
        default_model: ``provider:model`` for runs without a model of their own or their
            workspace's.
        explicit_model: ``provider:model`` from the environment, which overrides the workspace's.
        drain_seconds: Longest wait of a shutdown for running effects.
    """

    database_url: str
    direct_url: str
    home: Placement
    queues: tuple[str, ...]
    slots: int
    lease_seconds: float
    default_model: str
    explicit_model: str = ""
    drain_seconds: float = 25.0
