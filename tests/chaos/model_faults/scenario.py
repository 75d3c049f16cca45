"""R15: each fault of a model provider, end to end: what the run does, and that it does no more."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import psutil

from agents.choices import RunStatus
from agents.models import Run
from heartbit_site.base import orm
from tests.chaos.model_faults import truncation
from tests.chaos.model_faults.judge import judge
from tests.chaos.model_faults.mode import Mode, odd
from tests.chaos.model_faults.modes import BY_NAME, CUT, MODES
from tests.chaos.model_faults.rows import Result, row
from tests.chaos.model_faults.stage import Played, Stage, local_host, stage
from tests.chaos.model_faults.wire import DIALECTS
from tests.fleet import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.chaos.model_faults.observed import Case, Observed
    from tests.chaos.model_faults.wire import Dialect

SOUND = odd("sound", "nothing", "succeeds")
AT_ONCE = 16
#: These keep a whole processor busy, so the others' pauses are not measured beside them.
HEAVY = frozenset({"20-mb", "large-text", "5000-calls", "deep-json", "deep-arguments"})
#: These hold no processor, so they need no turn.
PATIENT = frozenset(mode.name for mode in MODES if mode.wait) | {"slow-first-byte"}
#: What a real worker process has to survive as well.
FLEET = (
    "429-long",
    "500-once",
    "hang-headers",
    "second-call-cut",
    "20-mb",
    "5000-calls",
    "deep-json",
    "long-int",
    "lone-surrogate",
    "invalid-utf8",
)
ROUTES = ("environment", "account")


@dataclass(frozen=True, slots=True)
class Load:
    """How much is played.

    Attributes:
        step: Every so many bytes an answer is cut.
        together: How many cuts one run gets.
        every_route: Whether each mode is played through each client, or they take turns.
    """

    step: int = 1
    together: int = 4
    every_route: bool = True


def run(load: Load, directory: Path) -> list[Result]:
    """Play everything; ledgers and logs stay in ``directory``."""
    with stage(directory) as on:
        results = asyncio.run(_all(load, on))
        results += _elsewhere(on, results)
    return results


async def _all(load: Load, on: Stage) -> list[Result]:
    worker = Worker(queues=on.queue, concurrency=20, environment=on.environment)
    async with local_host(on):
        try:
            async with asyncio.TaskGroup() as group:
                fleet = group.create_task(_fleet(on, worker))
                local = group.create_task(_local(load, on))
        finally:
            await orm.run_in_thread(worker.stop)
        played = [*local.result(), *fleet.result()]
        seen = await on.observe(played)
    return [_judged(each, found) for each, found in zip(played, seen, strict=True)]


def _judged(played: Played, seen: Observed) -> Result:
    return Result(played, seen, tuple(judge(played.mode, played.case, seen)))


async def _local(load: Load, on: Stage) -> list[Played]:
    """Those that only wait, all the time; the others a few at a time, the heavy ones one by one."""
    cases = list(_cases(load, on))
    patient = [pair for pair in cases if pair[0].name in PATIENT]
    heavy = [pair for pair in cases if pair[0].name in HEAVY]
    brisk = [pair for pair in cases if pair[0].name not in PATIENT | HEAVY]
    rooms = await _rooms(on, SOUND)
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(mode: Mode, case: Case) -> Played:
        workspace = await orm.run_in_thread(lambda: on.prepare(mode, case))
        played = await on.play(mode, case, workspace)
        sound = on.case(SOUND, case.dialect, "environment")
        after = await on.play(SOUND, sound, rooms[case.dialect])
        played.served_after = await _succeeded(after)
        return played

    async def limited(mode: Mode, case: Case) -> Played:
        async with slots:
            return await one(mode, case)

    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(one(*pair)) for pair in patient]
        played = list(await asyncio.gather(*(limited(*pair) for pair in brisk)))
        _say(f"{len(played)} runs have ended")
        played += [await one(*pair) for pair in heavy]
        _say(f"so have {len(heavy)} heavy ones")
        played += await _cuts(load, on)
        _say("the answers were cut")
    return played + [task.result() for task in waiting]


async def _rooms(on: Stage, mode: Mode) -> dict[Dialect, Workspace]:
    """Workspaces for many runs of a mode."""

    def prepare() -> dict[Dialect, Workspace]:
        cases = [on.case(mode, dialect, "environment") for dialect in DIALECTS]
        return {case.dialect: on.prepare(mode, case) for case in cases}

    return await orm.run_in_thread(prepare)


async def _succeeded(played: Played) -> bool:
    run = await orm.run_in_thread(lambda: Run.objects.get(pk=played.run_id))
    return run.status == RunStatus.SUCCEEDED


def _cases(load: Load, on: Stage) -> Iterator[tuple[Mode, Case]]:
    for number, mode in enumerate(MODES):
        for turn, dialect in enumerate(DIALECTS):
            one = (ROUTES[(number + turn) % len(ROUTES)],)
            for route in ROUTES if load.every_route else one:
                if _can(mode, dialect, route):
                    yield mode, on.case(mode, dialect, route)


def _can(mode: Mode, dialect: Dialect, route: str) -> bool:
    # The guarded client asks for gzip by itself and unpacks it within its limits.
    unpacks = mode.name == "gzip" and route == "account"
    # Nothing but an account can lead the anthropic dialect to where no provider is.
    nowhere = mode.where != "provider" and (route, dialect) == ("environment", "anthropic")
    return not unpacks and not nowhere


async def _cuts(load: Load, on: Stage) -> list[Played]:
    """The sweep, through the client of the environment's providers."""
    rooms = await _rooms(on, replace(CUT, attempts=load.together))
    waiting = truncation.cuts(load.step, load.together)
    played: list[Played] = []

    async def play() -> None:
        for cut in waiting:
            case = on.case(cut.mode, cut.dialect, "environment", cut.detail)
            played.append(await on.play(cut.mode, case, rooms[cut.dialect]))

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(play())
    return played


async def _fleet(on: Stage, worker: Worker) -> list[Played]:
    """A part of the modes on a worker process, which has to live through them."""
    await orm.run_in_thread(worker.start)
    pid = worker.pid

    async def one(mode: Mode, number: int) -> Played:
        case = on.case(mode, DIALECTS[number % 2], "fleet")
        workspace = await orm.run_in_thread(lambda: on.prepare(mode, case))
        return await on.play(mode, case, workspace)

    modes = [BY_NAME[name] for name in FLEET]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(mode, n)) for n, mode in enumerate(modes)]
    played = [task.result() for task in tasks]
    last = await one(SOUND, 0)
    last.served_after = await _succeeded(last) and psutil.pid_exists(pid)
    return [*played, last]


def _elsewhere(on: Stage, results: Sequence[Result]) -> list[Result]:
    """A redirect that was followed, as a fault of the runs that were redirected."""
    if '"case": "elsewhere"' not in on.provider_ledger.read_text():
        return []
    led = [each for each in results if each.played.mode.name.startswith("redirect")]
    return [Result(led[0].played, led[0].seen, ("a redirect was followed",))]


SIZES = {"small": Load(step=29, together=20, every_route=False), "full": Load()}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Run it and report."""
    began = time.monotonic()
    return row(run(SIZES[size], directory), seconds=time.monotonic() - began)


def _say(text: str) -> None:
    if os.environ.get("CHAOS_QUIET") != "1":
        sys.stderr.write(f"chaos: {text}\n")
