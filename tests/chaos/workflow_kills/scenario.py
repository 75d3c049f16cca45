"""R27: workers are killed under workflows, which end as their undisturbed twins do."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agents.choices import RunKind
from agents.loop.history import TurnNotFoundError, TurnOpenError
from agents.models import BlackboardEntry, Run, RunEvent
from tests.chaos import records, report
from tests.chaos.checker import Verdict
from tests.chaos.records import Effect
from tests.chaos.rig import Rig, rig, say
from tests.chaos.workflow_kills import definitions
from tests.chaos.workflow_kills.definitions import TRIP, TRIPS, WINDOWS
from tests.chaos.workflow_kills.judge import TRANSACTIONAL, Journey, differences, outside, story
from tests.chaos.workflow_kills.measures import repeated_requests, supersteps_hit, windows
from tests.chaos.workflow_kills.trips import SHAPES, Killer, Person, Trips
from tests.starts import fork_run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.records import Kill, Records

LATENCY_MS: Final = 250.0


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        at_once: How many runs are unfinished at a time.
        every: Seconds between two kills.
        kills: How many; what is left then ends in peace.
        forks: Most forks that are taken.
        supersteps: So many have to be hit.
    """

    at_once: int
    every: float
    kills: int
    forks: int
    supersteps: int


SIZES = {
    "small": Size(8, every=1.0, kills=2, forks=2, supersteps=3),
    "full": Size(24, every=2.0, kills=30, forks=20, supersteps=200),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Let runs end undisturbed, then others under kills, and compare."""
    how = SIZES[size]
    with rig(directory, model_ms=LATENCY_MS, effect_ms=LATENCY_MS) as on:
        definitions.publish(on.workspace, *TRIPS, queue=on.queue)
        person = Person(on)
        twins = _trips(on, f"r27-{seed}-twin", runs=2 * SHAPES, at_once=2 * SHAPES)
        twins.finish(person.look)
        trips = _trips(on, f"r27-{seed}", runs=how.at_once, at_once=how.at_once)
        killer = Killer(on, seed=seed, every=how.every, most=how.kills)
        _disturb(trips, killer, person, how, seed)
    ids = list(Run.objects.filter(workspace=on.workspace).values_list("pk", flat=True))
    left = on.collect(ids, kills=killer.kills)
    return _judged(on, left, twins, trips, person, how, seed)


def _trips(on: Rig, name: str, *, runs: int, at_once: int) -> Trips:
    return Trips(on.workspace, name, on.effects.url, runs=runs, at_once=at_once)


def _disturb(trips: Trips, killer: Killer, person: Person, how: Size, seed: int) -> None:
    """Kill, fork and answer: further runs begin until all kills were made, and then all end."""
    choice = random.Random(seed)  # noqa: S311  repeatable, not secret
    next_fork = time.monotonic() + how.every

    def look() -> None:
        nonlocal next_fork
        killer.look()
        person.look()
        if time.monotonic() >= next_fork and len(trips.sources) < how.forks:
            _fork(trips, choice)
            next_fork = time.monotonic() + how.every / 2
        trips.runs = len(trips.ids) + (how.at_once if len(killer.kills) < how.kills else 0)

    trips.finish(look)


def _fork(trips: Trips, choice: random.Random) -> None:
    """Fork a run from one of its supersteps, whatever becomes of it at this moment."""
    source = choice.choice([one for one in trips.ids if one not in trips.sources])
    steps = RunEvent.objects.filter(run=source, type="graph.committed").count()
    if steps < 2:
        return
    try:
        made = fork_run(Run.objects.get(pk=source), choice.randint(1, steps - 1))
    except (TurnNotFoundError, TurnOpenError) as refused:
        say(f"no fork: {refused}")
        return
    trips.ids.append(made)
    trips.names[made] = trips.names[source]
    trips.sources[made] = source


def _judged(
    on: Rig,
    left: Records,
    twins: Trips,
    trips: Trips,
    person: Person,
    how: Size,
    seed: int,
) -> dict[str, Any]:
    rows = {str(run.pk): run for run in Run.objects.filter(workspace=on.workspace)}
    runs = {run.id: run for run in left.runs}
    kills: dict[str, list[Kill]] = defaultdict(list)
    for kill in left.kills:
        for run_id in kill.held:
            kills[run_id].append(kill)
    undisturbed = _journeys(twins, rows, runs)
    expected = {one.kind: story(one) for one in undisturbed}
    journeys = _journeys(trips, rows, runs)
    different = differences([*undisturbed, *journeys], expected)
    sources = {str(fork): str(source) for fork, source in trips.sources.items()}
    workflows = [run for run in left.runs if rows[run.id].kind == RunKind.WORKFLOW]
    found = outside(workflows, [*left.effects, *_booked(on)], sources)
    lineages = Counter(one.name for one in journeys)
    most, beyond = windows(left, WINDOWS, lineages, kills, seconds=LATENCY_MS / 1000)
    hit = supersteps_hit(left, {key: str(row.parent_id or "") for key, row in rows.items()})
    lost = sum(not row.finished_at for row in rows.values())
    verdict = Verdict(
        kills=len(left.kills),
        lost=lost,
        uncertain=person.resolved,
        decided=person.answers,
        repeats_with_key=found.repeated,
        faults=[*different[:20], *found.strangers[:20]],
    )
    if len(hit) < how.supersteps:
        verdict.invalid.append(f"only {len(hit)} supersteps were hit")
    if not trips.sources:
        verdict.invalid.append("no run was forked")
    verdict.invalid += [
        f"the window {name} was never full" for name, size in WINDOWS.items() if most[name] < size
    ]
    return report.row(
        "R27",
        runs=len(journeys),
        seed=seed,
        figure={
            "lost": lost,
            "ended_differently": len(different),
            "effects_twice": found.twice,
            "effects_under_two_keys": found.keys_doubled,
            "windows_exceeded": beyond,
            "model_calls_repeated": repeated_requests(left.asked, left.runs, kills),
        },
        target={},
        verdict=verdict,
        also={
            "kills": len(left.kills),
            "supersteps_hit": len(hit),
            "of_them_in_the_workflows_own_run": sum(hit.values()),
            "forks": len(trips.sources),
            "workers_that_ended_by_themselves": left.own_exits,
        },
    )


def _journeys(trips: Trips, rows: dict[str, Run], runs: dict[str, records.Run]) -> list[Journey]:
    found = []
    for run_id, name in trips.names.items():
        row, number = rows[str(run_id)], int(name.split("-")[-2])
        found.append(
            Journey(
                runs[str(run_id)],
                name,
                f"{row.agent}{number // 2 % SHAPES}",
                is_ordered=row.agent == TRIP,
                source=str(trips.sources.get(run_id, "")),
            )
        )
    return found


def _booked(on: Rig) -> list[Effect]:
    """Return the rows of transactional calls as effects, without those that a fork copied."""
    entries = BlackboardEntry.objects.filter(root__workspace=on.workspace, author="chaos")
    return [
        Effect(TRANSACTIONAL, key.partition("#")[0], op, 0)
        for root, key, op in entries.values_list("root", "key", "value")
        if key.startswith(str(root))
    ]
