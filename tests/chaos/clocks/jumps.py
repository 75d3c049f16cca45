"""R10: the clocks of a worker and of a beat jump by an hour and by a day, both ways.

Leases and slots go by the database's time, so no lease is stolen and no slot is missed or doubled.
"""

from __future__ import annotations

import random
import secrets
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.models import Run, RunEvent
from heartbit_site.base.queues import SYSTEM
from scheduling.querysets import database_now
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.clocks.plans import all_ended, look, plan
from tests.chaos.clocks.processes import Beats, WrongClock
from tests.fleet import WireServer, Worker, wait_until

if TYPE_CHECKING:
    from pathlib import Path

HOUR, DAY = 3_600.0, 86_400.0
JUMPS = (HOUR, -HOUR, DAY, -DAY, 0.0)
LATEST_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Size:
    """How long it goes on.

    Attributes:
        intervals, rounds, once: See ``plans.plan``.
        jump_every: Seconds between two jumps.
        model_ms: How long a run's model thinks, while its worker's clock jumps.
        lead: Seconds until the first slot.
    """

    intervals: int
    rounds: int
    once: int
    jump_every: float
    model_ms: int
    lead: float


SIZES = {
    "small": Size(intervals=0, rounds=1, once=12, jump_every=1.5, model_ms=2_000, lead=4.0),
    "full": Size(intervals=10, rounds=12, once=80, jump_every=4.0, model_ms=6_000, lead=6.0),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Let clocks jump while slots come due and runs are at work, and judge."""
    how = SIZES[size]
    choice = random.Random(seed)  # noqa: S311  repeatable, not secret
    queue = f"r10-{secrets.token_hex(4)}"
    clock = WrongClock(directory)
    jumps: list[float] = []
    with ExitStack() as stack:
        wire = stack.enter_context(WireServer())
        environment = {"OPENAI_BASE_URL": wire.url, "OPENAI_API_KEY": "chaos"}
        queues = f"{queue},{SYSTEM}"
        stack.enter_context(Worker(queues=queues, environment=environment))
        wrong = environment | clock.environment
        stack.enter_context(Worker(queues=queues, environment=wrong))
        log = directory / "beats.log"
        beats = stack.enter_context(Beats(1, log=log, environment=clock.environment))
        beats.wait_until_started()
        plans = plan(
            queue,
            intervals=how.intervals,
            rounds=how.rounds,
            once=how.once,
            task=f"[[latency: {how.model_ms}]] [[text: Done.]]",
            lead_seconds=how.lead,
        )
        while database_now() < plans.ends_at or len(jumps) < len(JUMPS):
            time.sleep(how.jump_every * choice.uniform(0.7, 1.0))
            jumps.append(JUMPS[len(jumps) % len(JUMPS)])
            clock.jump(jumps[-1])
        wait_until(lambda: all_ended(plans), seconds=90, what="every slot's run has ended")
        fired = look(plans)
    runs = Run.objects.filter(workspace=plans.workspace)
    claims = RunEvent.objects.filter(run__in=runs, type="run.started")
    verdict = Verdict()
    workers = claims.values_list("payload__worker", flat=True).distinct().count()
    if workers < 2:
        verdict.invalid.append("the worker with the wrong clock took no run")
    if not beats.rings:
        verdict.invalid.append("the beat with the wrong clock never rang for a schedule")
    return report.row(
        "R10",
        runs=len(plans.slots),
        seed=seed,
        figure={
            "leases_stolen": claims.count() - runs.count(),
            "slots_missed": fired.missed,
            "slots_doubled": fired.doubled,
            "slots_early": fired.early,
            "runs_not_succeeded": fired.unfinished,
            "latest_start_s": fired.latest_seconds,
        },
        target={"latest_start_s": LATEST_SECONDS},
        verdict=verdict,
        also={"jumps": len(jumps), "rings": beats.rings},
    )
