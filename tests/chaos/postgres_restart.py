"""R5: PostgreSQL ends and comes back, again and again, under runs and clients that insist.

A client repeats its request with the same idempotency key until it is accepted, and once more in
the end: it is always about the same run.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.choices import RunStatus
from agents.models import Run
from tests.api.server import WebServer
from tests.chaos import report
from tests.chaos.checker import judge
from tests.chaos.clients import ApiClient
from tests.chaos.couriers import COURIER, SHORT_SCRIPT, task
from tests.chaos.decider import Decider
from tests.chaos.insistence import Clients, Wish, broken_keys
from tests.chaos.outages import Outage, finish, kills_of
from tests.chaos.postgres_server import stopped
from tests.chaos.rig import Rig, rig, say

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.chaos import records


WAIT_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        per_second: Runs that are asked for a second.
        every: At least and at most so many seconds between two restarts.
        down: The same for how long there is no server.
        restarts: At least so many, also when the runs are through before.
    """

    workers: int
    runs: int
    per_second: float
    every: tuple[float, float]
    down: tuple[float, float]
    restarts: int


SIZES = {
    "small": Size(2, 20, per_second=7, every=(0.3, 0.6), down=(0.0, 0.5), restarts=2),
    "full": Size(3, 2000, per_second=6, every=(5, 20), down=(0, 5), restarts=20),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Restart and judge."""
    how = SIZES[size]
    with (
        rig(directory, workers=how.workers, model_ms=50, effect_ms=50) as on,
        WebServer() as web,
        ApiClient(web, on.workspace) as api,
    ):
        clients = Clients(
            api,
            COURIER,
            lambda number: task(f"r5-{seed}-{number}", SHORT_SCRIPT, effects_url=on.effects.url),
            f"r5-{seed}",
            runs=how.runs,
            per_second=how.per_second,
        )
        with clients:
            outages = _restart(on, clients, how, seed=seed)
        wishes = clients.wishes()
        broken = list(broken_keys(wishes, api, COURIER, on.workspace))
        accepted = [wish.run for wish in wishes if wish.run is not None]
        # Asked what became of a call whose end could not be written, a person looks and says it.
        with Decider(on.workspace, seed=seed, journal=on.decisions):
            finish(on, accepted)
        left = on.collect(accepted)
        kills = [kill for outage in outages for kill in kills_of(left.runs, outage)]
        left = on.collect(accepted, kills=kills)
    verdict = judge(left)
    failed = [answer for wish in wishes for answer in wish.answers if answer.run is None]
    defects = [answer for answer in failed if not answer.detail.startswith("503 ")]
    verdict.faults += broken
    verdict.faults += sorted({f"a client was told {answer.detail}" for answer in defects})
    hit = sum(any(kill.held for kill in kills_of(left.runs, outage)) for outage in outages)
    if hit < 0.9 * len(outages) or len(outages) < how.restarts:
        verdict.invalid.append(f"only {hit} of {len(outages)} restarts hit runs at work")
    if not failed:
        verdict.invalid.append("no client noticed anything")
    return report.row(
        "R5",
        runs=len(accepted),
        seed=seed,
        figure={
            **report.promises(verdict),
            "not_accepted": sum(wish.run is None for wish in wishes),
            "key_gave_another_run": len(broken),
            "answers_that_hide_what_happened": len(defects),
        },
        target={},
        verdict=verdict,
        also={
            "restarts": len(outages),
            "restarts_immediate": sum(outage.mode == "immediate" for outage in outages),
            "down_max_s": round(max(o.back - o.at for o in outages), 2),
            "runs_held_at_a_restart": sum(len(kill.held) for kill in kills) // 2,
            "requests_refused": len(failed),
            "refused_although_committed": _hidden(wishes, left.runs),
        },
    )


def _restart(on: Rig, clients: Clients, how: Size, *, seed: int) -> list[Outage]:
    choice = random.Random(seed)  # noqa: S311  repeatable, not secret
    outages: list[Outage] = []
    while clients.asking() or len(outages) < how.restarts:
        due = time.monotonic() + choice.uniform(*how.every)
        # A restart that hurts nobody proves nothing: it waits for runs, but not for ever.
        while time.monotonic() < due or (time.monotonic() < due + WAIT_SECONDS and not _busy(on)):
            on.supervisor.tend()
            time.sleep(0.1)
        # Half of each; the first two differ, also where there are only two.
        mode = ("immediate", "fast")[len(outages) % 2]
        at = time.time()
        with stopped(mode):
            time.sleep(choice.uniform(*how.down))
        outages.append(Outage(mode, at, time.time()))
        say(f"PostgreSQL was away for {outages[-1].back - at:.1f} s ({mode})")
    return outages


def _busy(on: Rig) -> bool:
    return Run.objects.filter(workspace=on.workspace, status=RunStatus.RUNNING).exists()


def _hidden(wishes: Iterable[Wish], runs: Iterable[records.Run]) -> int:
    """How many requests were refused although their run had been committed: what keys are for."""
    created = {run.id: run.events[0].at for run in runs}
    return sum(
        any(answer.run is None and answer.until > created[str(wish.run)] for answer in wish.answers)
        for wish in wishes
        if wish.run is not None
    )
