"""The scenarios by their numbers, played one after the other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.chaos import (
    attempts,
    broker_down,
    broker_flush,
    duplicates,
    early_death,
    poison,
    postgres_restart,
    rolling_restart,
    suspects,
    worker_kill,
    zombies,
)
from tests.chaos.cancel_race import scenario as cancel_race
from tests.chaos.caps import scenario as caps
from tests.chaos.clocks import beats, jumps
from tests.chaos.crash_points import scenario as crash_points
from tests.chaos.doors import scenario as doors
from tests.chaos.exhaustion import scenario as exhaustion
from tests.chaos.graphs import scenario as graphs
from tests.chaos.knowing import scenario as knowing
from tests.chaos.machine import scenario as machine
from tests.chaos.model_faults import scenario as model_faults
from tests.chaos.parsers import scenario as parsers
from tests.chaos.replay import scenario as replay
from tests.chaos.restores import scenario as restores
from tests.chaos.reviews import scenario as reviews
from tests.chaos.soak import scenario as soak
from tests.chaos.triggers import scenario as triggers
from tests.chaos.workflow_kills import crowd
from tests.chaos.workflow_kills import scenario as workflow_kills

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.chaos.attempts import Play


SCENARIOS: dict[str, Play] = {
    "R1": worker_kill.play,
    "R2": crash_points.play,
    "R3": broker_flush.play,
    "R4": broker_down.play,
    "R5": postgres_restart.play,
    "R6": duplicates.play,
    "R7": zombies.play,
    "R8": early_death.play,
    "R9": poison.play,
    "R10": jumps.play,
    "R11": beats.play,
    "R14": cancel_race.play,
    "R15": model_faults.play,
    "R18": rolling_restart.play,
    "R19": replay.play,
    "R20": machine.play,
    "R21": exhaustion.play,
    "R22": soak.play,
    "R23": restores.play,
    "R24": knowing.play,
    "R25": suspects.play,
    "R26": graphs.play,
    "R27": workflow_kills.play,
    "R28": crowd.play,
    "R29": doors.play,
    "R30": reviews.play,
    "R31": triggers.play,
    "R32": caps.play,
    "S12": parsers.play,
}

#: They take too long to be among all the others.
WHEN_NAMED = frozenset({"R22"})


def play(
    names: Sequence[str], *, size: str, seed: int, runs: int | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of these scenarios.

    Args:
        names: Keys of ``SCENARIOS``.
        size: ``small`` (as CI plays them) or ``full``.
        seed: Seed of their dice.
        runs: Overrides the number of R1's runs.
    """
    scenarios = {**SCENARIOS, "R1": partial(worker_kill.play, runs=runs)}
    for name in names:
        yield attempts.play(name, scenarios[name], size=size, seed=seed)
