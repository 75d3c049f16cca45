"""R29: approvals over every protocol, while web processes and workers are killed.

A client of each protocol asks an agent for something that cannot be taken back, approves it over
the same protocol, and waits for the answer. Where a worker died with the call under way, the
client is asked what became of it, and looks.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agents.models import Decision, Run
from tests.api.server import WebServer, key_for
from tests.chaos import couriers, report
from tests.chaos.checker import Verdict
from tests.chaos.doors.clients import CLIENTS
from tests.chaos.doors.trips import Trip
from tests.chaos.rig import Rig, rig, say
from tests.chaos.valkey_server import free_port

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from tests.chaos.doors.clients import Client
    from tests.chaos.records import Kill, Records

LATENCY_MS: Final = 400.0


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        each: Approvals over each protocol.
        at_once: How many are under way at a time.
        every: Seconds between two kills, of a worker and of the web process by turns.
        hits: So many of each protocol's approvals have to be under way at a kill.
    """

    each: int
    at_once: int
    every: float
    hits: int


SIZES = {"small": Size(3, 12, every=1.5, hits=1), "full": Size(200, 40, every=3.0, hits=150)}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Ask and approve over every protocol, kill, and count what was executed."""
    how = SIZES[size]
    with rig(directory, model_ms=LATENCY_MS, effect_ms=LATENCY_MS) as on, Web() as web:
        trips = [
            Trip(f"r29-{seed}-{number}-{kind.protocol}", kind.protocol)
            for number in range(how.each)
            for kind in CLIENTS
        ]
        killer = Killer(on, web, seed=seed, every=how.every)
        with ThreadPoolExecutor(how.at_once) as pool:
            played = [pool.submit(_play, trip, on, web) for trip in trips]
            while not all(one.done() for one in played):
                killer.look(is_over=_left(played) < how.at_once // 2)
                time.sleep(0.05)
        ids = list(Run.objects.filter(workspace=on.workspace).values_list("pk", flat=True))
    left = on.collect(ids, kills=killer.workers)
    return _judged(left, trips, killer, how, seed)


def _left(played: list[Future[None]]) -> int:
    return sum(not one.done() for one in played)


def _play(trip: Trip, on: Rig, web: Web) -> None:
    kinds: dict[str, type[Client]] = {kind.protocol: kind for kind in CLIENTS}
    client = kinds[trip.protocol](web.url, key_for(on.workspace), trip.name)
    task = couriers.task(trip.name, ("R",), effects_url=on.effects.url)
    try:
        trip.play(client, task, on.directory / "effects.jsonl")
    except Exception as error:  # noqa: BLE001  judged at the end, with the others
        trip.fault = f"{trip.name}: {type(error).__name__}: {error}"
    finally:
        client.http.close()


class Web:
    """The web process, which returns at the same address when it was killed."""

    def __enter__(self) -> Web:
        self._port = free_port()
        self._stack = ExitStack()
        self._server = self._stack.enter_context(WebServer(port=self._port))
        self.url = self._server.url
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def kill(self) -> None:
        """SIGKILL it, and start another one."""
        os.kill(self._server.pid, signal.SIGKILL)
        self._stack.close()
        self._server = self._stack.enter_context(WebServer(port=self._port))


class Killer:
    """Kills a worker that holds runs, and the web process, by turns.

    Attributes:
        workers: The workers that were killed.
        webs: When the web process was killed.
    """

    def __init__(self, on: Rig, web: Web, *, seed: int, every: float) -> None:
        self.workers: list[Kill] = []
        self.webs: list[float] = []
        self._on, self._web, self._every = on, web, every
        self._choice = random.Random(seed)  # noqa: S311  repeatable, not secret
        self._next = time.monotonic() + every

    def look(self, *, is_over: bool) -> None:
        """Kill if it is time to, unless the rest may end in peace."""
        supervisor = self._on.supervisor
        supervisor.tend()
        enough = bool(self.workers and self.webs) and is_over
        if enough or time.monotonic() < self._next or supervisor.registered() < 2:
            return
        if len(self.webs) > len(self.workers):
            runs = Run.objects.filter(workspace=self._on.workspace)
            kill = supervisor.kill_one(self._choice, runs)
            if kill is None:
                return
            self.workers.append(kill)
            say(f"killed worker {kill.worker} with {len(kill.held)} runs")
        else:
            self.webs.append(time.time())
            self._web.kill()
            say("killed the web process")
        self._next = time.monotonic() + self._every * self._choice.uniform(0.5, 1.5)


def _judged(
    left: Records, trips: list[Trip], killer: Killer, how: Size, seed: int
) -> dict[str, Any]:
    runs = Counter(run.name for run in left.runs)
    ended = {run.name for run in left.runs if run.status == "succeeded"}
    effects = Counter(effect.op for effect in left.effects)
    first = {effect.op: effect.at for effect in reversed(left.effects)}
    decided: Counter[str] = Counter()
    names = {run.id: run.name for run in left.runs}
    for run_id in Decision.objects.filter(run__in=[*names], verdict="approved").values_list(
        "run", flat=True
    ):
        decided[names[str(run_id)]] += 1
    figure = {
        "lost": sum(trip.name not in ended or not trip.ended_at for trip in trips),
        "runs_doubled": sum(runs[trip.name] != 1 for trip in trips),
        "not_executed_once": sum(effects[trip.op] != 1 for trip in trips),
        "not_approved_once": sum(decided[trip.name] != 1 for trip in trips),
        "executed_unasked": sum(
            first.get(trip.op, trip.answered_at) < trip.answered_at for trip in trips
        ),
        "refused_by_a_door": sum(bool(trip.fault) for trip in trips),
    }
    kills = sorted([*killer.webs, *(kill.at for kill in killer.workers)])
    waiting = Counter(trip.protocol for trip in trips if _hit(kills, trip.asked_at, trip.ended_at))
    between = sum(_hit(kills, trip.asked_at, trip.answered_at) for trip in trips)
    until = ((trip, first.get(trip.op, 0.0)) for trip in trips)
    after = sum(_hit(kills, trip.answered_at, at) for trip, at in until)
    verdict = Verdict(kills=len(kills), uncertain=sum(trip.outcomes for trip in trips))
    verdict.faults += [trip.fault for trip in trips if trip.fault][:20]
    verdict.invalid += [
        f"only {waiting[kind.protocol]} approvals over {kind.protocol} were hit by a kill"
        for kind in CLIENTS
        if waiting[kind.protocol] < how.hits
    ]
    return report.row(
        "R29",
        runs=len(trips),
        seed=seed,
        figure=figure,
        target={},
        verdict=verdict,
        also={
            "kills_of_web": len(killer.webs),
            "kills_of_workers": len(killer.workers),
            "hit_before_the_answer": between,
            "hit_between_answer_and_effect": after,
            **{f"hit_over_{name}": count for name, count in sorted(waiting.items())},
        },
    )


def _hit(kills: list[float], after: float, before: float) -> bool:
    return any(after <= at <= before for at in kills)
