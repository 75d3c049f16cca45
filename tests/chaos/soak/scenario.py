"""R22: mixed load for a long time, a worker killed every minute; nothing is lost, nothing grows.

Two workers are killed in turns. A third one never is: it is what must not grow. Of its time the
first third is warming up.
"""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils import timezone

from agents.models import Run
from heartbit_site.base import queues
from tests.chaos import report
from tests.chaos.approvals import origin
from tests.chaos.checker import check, judge
from tests.chaos.decider import Decider
from tests.chaos.rig import rig, say
from tests.chaos.soak.delays import delays
from tests.chaos.soak.mix import Mix
from tests.chaos.soak.rate import measured_rate
from tests.chaos.soak.threads import attributed
from tests.chaos.soak.trends import growth, ratio
from tests.chaos.soak.vitals import Vitals
from tests.fleet import Worker
from tests.installation import BUILD

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.chaos.checker import Verdict
    from tests.chaos.records import Kill, Records
    from tests.chaos.records import Run as RunRecord
    from tests.chaos.soak.delays import Quarters
    from tests.chaos.soak.vitals import Sample
    from tests.chaos.supervisor import Supervisor

GROWTH_PERCENT_AN_HOUR = 5.0
BOUNDED = 1.5  # the last third to the middle one; of latency the last quarter to the first
DEAD_SHARE = 0.5  # autovacuum keeps it near 0.2, and a minute's changes


@dataclass(frozen=True, slots=True)
class Size:
    """How long.

    Attributes:
        seconds: Of load.
        a_second: Runs started a second; None: half of what is measured first.
        kill_every: Seconds between two deaths.
        fits: Whether it is long enough to see growth.
    """

    seconds: float
    a_second: float | None
    kill_every: float
    fits: bool


SIZES = {
    "small": Size(90, a_second=2.0, kill_every=20, fits=False),
    "full": Size(1800, a_second=2.0, kill_every=60, fits=True),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Soak and judge."""
    return soak(SIZES[size], seed=seed, directory=directory)


def soak(how: Size, *, seed: int, directory: Path) -> dict[str, Any]:
    """Soak as long and at the pace that is given, and judge."""
    with rig(directory, workers=2, shared=(queues.SYSTEM,)) as on:
        # The queue of the system is served as well: else it fills.
        served = f"{on.queue},{queues.SYSTEM}"
        survivor = Worker(queues=served, environment=on.environment)
        with survivor, Decider(on.workspace, seed=seed, journal=on.decisions):
            mix = Mix(on, f"r22-{seed}", how.a_second or 0, seed)
            measured = None
            if how.a_second is None:
                measured = measured_rate(mix, on)
                say(f"{measured:.1f} runs a second; half of them for {how.seconds:g} s")
                mix.pace(measured / 2)
            began = timezone.now()
            vitals = Vitals(on, survivor.pid, directory / "vitals.jsonl")
            killer = _Killer(on.supervisor, every=how.kill_every, seed=seed)
            until = time.monotonic() + how.seconds
            while time.monotonic() < until:
                on.supervisor.tend()
                killer.look()
                mix.look()
                vitals.look()
                time.sleep(0.05)
            soaked = tuple(vitals.samples)
            ended = timezone.now()
            _finish(on.supervisor, mix, vitals)
            stream_bytes = vitals.stream_bytes()
            vitals.close()
        say("judging")
        quarters = delays(on.workspace, began, ended)
        ids = Run.objects.filter(workspace=on.workspace).values_list("pk", flat=True)
        left = on.collect(list(ids), kills=killer.kills, missed_windows=killer.missed_windows)
    BUILD.mkdir(exist_ok=True)
    shutil.copy(vitals.path, BUILD / "soak-vitals.jsonl")  # also when all is well
    verdict = _judge(left, mix)
    row = _row(how, verdict, mix, vitals, soaked, stream_bytes, quarters, runs=len(left.runs))
    if measured is not None:
        row["also"] |= {"measured_a_second": round(measured, 2)}
    row["also"]["runs_a_second"] = round(mix.a_second, 2)
    return row


def _finish(supervisor: Supervisor, mix: Mix, vitals: Vitals) -> None:
    """Wait until all have ended, or none has for two leases and a while."""
    quiet = 2 * settings.HEARTBIT_LEASE_SECONDS + 30
    until, seen = time.monotonic() + quiet, -1
    while (unfinished := mix.unfinished()) and time.monotonic() < until:
        if unfinished != seen:
            until, seen = time.monotonic() + quiet, unfinished
        supervisor.tend()
        vitals.look()
        time.sleep(0.1)


def _judge(left: Records, mix: Mix) -> Verdict:
    """Those that were told to stop need not succeed; everything else holds for them as well."""
    by_id = {run.id: run for run in left.runs}
    threads = [[by_id[str(run)] for run in thread] for thread in mix.threads]
    left = replace(left, asked=attributed(left.asked, threads))
    doomed = {by_id[str(run)].name for run in mix.doomed}
    verdict = check(_part(left, doomed, inside=False))
    stopped = judge(_pardoned(_part(left, doomed, inside=True)))
    verdict.lost += stopped.lost
    verdict.repeated += stopped.repeated
    verdict.doubled += stopped.doubled
    verdict.unapproved += stopped.unapproved
    verdict.faults += stopped.faults
    if not any(by_id[str(run)].status == "cancelled" for run in mix.doomed):
        verdict.invalid.append("no cancel met a live run")
    if not mix.steered:
        verdict.invalid.append("nobody was told anything while working")
    return verdict


def _pardoned(left: Records) -> Records:
    """A call that was under way when its run was cancelled is uncertain, without any kill."""
    return replace(left, runs=tuple(map(_pardoned_run, left.runs)))


def _pardoned_run(run: RunRecord) -> RunRecord:
    if run.status != "cancelled":
        return run
    calls = (
        replace(call, status="cancelled") if call.status == "uncertain" else call
        for call in run.calls
    )
    return replace(run, calls=tuple(calls))


def _part(left: Records, names: set[str], *, inside: bool) -> Records:
    """The records of these runs, or of all others."""
    return replace(
        left,
        runs=tuple(run for run in left.runs if (run.name in names) is inside),
        asked=tuple(each for each in left.asked if (each.run in names) is inside),
        effects=tuple(
            each for each in left.effects if (origin(each.op).partition("/")[0] in names) is inside
        ),
        own_exits=0 if inside else left.own_exits,
    )


def _row(
    how: Size,
    verdict: Verdict,
    mix: Mix,
    vitals: Vitals,
    samples: Sequence[Sample],
    stream_bytes: float,
    quarters: Quarters,
    *,
    runs: int,
) -> dict[str, Any]:
    third = how.seconds / 3
    memory = growth([(each.at, each.survivor_mb) for each in samples if each.at >= third])
    besides = [each.valkey_mb - each.live_streams * stream_bytes / 1e6 for each in samples]
    figure = {
        **report.promises(verdict),
        "stuck": len(vitals.stuck),
        "queued_ratio": ratio([each.queued for each in samples], floor=5),
        "doorbells_ratio": ratio([each.doorbells for each in samples], floor=5),
        "open_waits_ratio": ratio([each.open_waits for each in samples], floor=5),
        "heartbeats_ratio": ratio([each.heartbeats for each in samples]),
        "connections_ratio": ratio([each.connections for each in samples]),
        "survivor_files_ratio": ratio([each.survivor_files for each in samples]),
        "valkey_lasting_keys_ratio": ratio([each.lasting_keys for each in samples], floor=20),
        "valkey_other_memory_ratio": ratio(besides),
        "survivor_memory_ratio": ratio([each.survivor_mb for each in samples]),
        "postgres_memory_ratio": ratio([each.postgres_mb for each in samples]),
        "table_bytes_a_run_ratio": ratio(
            [each.table_bytes / max(1, each.ended) for each in samples]
        ),
        "latency_p50_ratio": quarters.ratio("p50"),
        "latency_p95_ratio": quarters.ratio("p95"),
    }
    figure = {name: round(value, 3) for name, value in figure.items()}
    target = {name: BOUNDED for name in figure if name.endswith("_ratio")}
    found = round(memory.percent_an_hour, 2)
    also: dict[str, float] = {"survivor_growth_error_percent_h": round(memory.error, 2)}
    if how.fits:
        figure["survivor_growth_percent_h"] = found
        target["survivor_growth_percent_h"] = GROWTH_PERCENT_AN_HOUR
        figure["dead_rows_share"] = max(each.dead_share for each in samples[-len(samples) // 3 :])
        target["dead_rows_share"] = DEAD_SHARE
    else:
        also["survivor_growth_percent_h_too_short"] = found
    first, last = samples[0], samples[-1]
    also |= {
        "seconds": how.seconds,
        "kills": verdict.kills,
        "recovery_p95_s": round(verdict.recovery_p95(), 2),
        "runs_told_to_stop": len(mix.doomed),
        "runs_steered": mix.steered,
        "conversations": len(mix.threads),
        "survivor_mb_first": round(first.survivor_mb, 1),
        "survivor_mb_last": round(last.survivor_mb, 1),
        "postgres_mb_first": round(first.postgres_mb, 1),
        "postgres_mb_last": round(last.postgres_mb, 1),
        "valkey_mb_first": round(first.valkey_mb, 2),
        "valkey_mb_last": round(last.valkey_mb, 2),
        "valkey_bytes_a_live_stream": round(stream_bytes),
        "connections_max": max(each.connections for each in samples),
        "queued_max": max(each.queued for each in samples),
        "samples": len(samples),
        "dead_rows_share_last": last.dead_share,
        "table_mb_last": round(last.table_bytes / 1e6, 1),
        "table_bytes_a_run_last": round(last.table_bytes / max(1, last.ended)),
        "connections_last": last.connections,
        "valkey_other_keys_last": last.other_keys,
        "valkey_lasting_keys_last": last.lasting_keys,
        **quarters.seconds(),
    }
    return report.row(
        "R22", runs=runs, seed=mix.seed, figure=figure, target=target, verdict=verdict, also=also
    )


class _Killer:
    """Kills once in each window, as soon as it hurts; the rest of the window is peace."""

    def __init__(self, supervisor: Supervisor, *, every: float, seed: int) -> None:
        self.kills: list[Kill] = []
        self.missed_windows = 0
        self._supervisor = supervisor
        self._every = every
        self._choice = random.Random(seed)  # noqa: S311  repeatable, not secret
        self._window = time.monotonic() + every

    def look(self) -> None:
        """Kill if it is time to."""
        now = time.monotonic()
        if now < self._window:
            return
        kill = self._supervisor.kill_one(self._choice)
        if kill is not None:
            self.kills.append(kill)
            say(f"killed worker {kill.worker} with {len(kill.held)} runs")
        elif now < self._window + self._every / 2:
            return
        else:
            self.missed_windows += 1
        self._window += self._every
