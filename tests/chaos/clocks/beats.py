"""R11: three beats at once, each killed again and again; every slot has one run."""

from __future__ import annotations

import random
import secrets
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heartbit_site.base.queues import SYSTEM
from scheduling.querysets import database_now
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.clocks.plans import all_ended, look, plan
from tests.chaos.clocks.processes import Beats
from tests.fleet import WireServer, Worker, wait_until

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        intervals, rounds, once: See ``plans.plan``.
        kill_every: Seconds between two deaths; the beats take turns.
        lead: Seconds until the first slot, in which beats and workers start.
    """

    intervals: int
    rounds: int
    once: int
    kill_every: float
    lead: float


SIZES = {
    "small": Size(intervals=1, rounds=1, once=19, kill_every=4.0, lead=4.0),
    "full": Size(intervals=10, rounds=12, once=80, kill_every=5.0, lead=6.0),
}
#: A second of the clock, one of the sweeper, and a machine that is busy starting beats.
LATEST_SECONDS = 15.0


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Kill beats while slots come due, and judge."""
    how = SIZES[size]
    choice = random.Random(seed)  # noqa: S311  repeatable, not secret
    queue = f"r11-{secrets.token_hex(4)}"
    verdict = Verdict()
    with ExitStack() as stack:
        wire = stack.enter_context(WireServer())
        environment = {"OPENAI_BASE_URL": wire.url, "OPENAI_API_KEY": "chaos"}
        for _ in range(2):
            stack.enter_context(Worker(queues=f"{queue},{SYSTEM}", environment=environment))
        beats = stack.enter_context(Beats(3, log=directory / "beats.log"))
        beats.wait_until_started()
        plans = plan(
            queue,
            intervals=how.intervals,
            rounds=how.rounds,
            once=how.once,
            task="[[text: Done.]]",
            lead_seconds=how.lead,
        )
        while database_now() < plans.ends_at:
            time.sleep(how.kill_every * choice.uniform(0.7, 1.0))
            beats.kill_next()
        wait_until(lambda: all_ended(plans), seconds=60, what="every slot's run has ended")
        fired = look(plans)
    if not beats.rings:
        verdict.invalid.append("no beat ever rang for a schedule")
    return report.row(
        "R11",
        runs=len(plans.slots),
        seed=seed,
        figure={
            "slots_missed": fired.missed,
            "slots_doubled": fired.doubled,
            "slots_early": fired.early,
            "runs_not_succeeded": fired.unfinished,
            "latest_start_s": fired.latest_seconds,
        },
        target={"latest_start_s": LATEST_SECONDS},
        verdict=verdict,
        also={"beats_killed": beats.killed, "rings": beats.rings},
    )
