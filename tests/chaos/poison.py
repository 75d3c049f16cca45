"""R9: a run that aborts its process each time, among runs that do no harm.

It must end in quarantine, after it died alone; the others must all succeed, not much later than
without it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import F

from agents.actions.publish_agent import publish_agent
from agents.choices import TERMINAL, RunStatus
from agents.models import Agent, Run, RunEvent, ToolBinding
from tests.bench.figures import percentile
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.couriers import SCRIPT, SHORT_SCRIPT
from tests.chaos.load import Load
from tests.chaos.rig import Rig, rig, say
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from uuid import UUID

POISONER = "poisoner"
TASK = "[[run: poison]] [[calls: abort_process {}]] [[text: never]]"
MAX_DEATHS = 6  # two that make a suspect, and one each among eight, four, two, and alone
ALERT = "is quarantined"


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets: innocents in all and at once, and poisoned runs among them.

    Attributes:
        slower: How many times later the innocents' p95 may be; where few workers start again on a
            busy machine it says little.
    """

    runs: int
    at_once: int
    poisoned: int
    script: tuple[str, ...]
    slower: float


SIZES = {
    "small": Size(6, at_once=6, poisoned=1, script=SHORT_SCRIPT, slower=30.0),
    "full": Size(120, at_once=12, poisoned=3, script=SCRIPT, slower=2.0),
}


def play(
    size: str, *, seed: int, directory: Path, others: Callable[[], str] = str
) -> dict[str, Any]:
    """Poison and judge.

    Args:
        size: A key of ``SIZES``.
        seed: Part of the runs' names.
        directory: Where ledgers and logs stay.
        others: What further processes of the installation have logged: all of them sweep.
    """
    how = SIZES[size]
    with rig(directory, workers=2 if size == "small" else 3) as on:
        before = _calm(on, how, f"r9-before-{seed}")
        load = _load(on, how, f"r9-{seed}")
        poisoned = [_poison(on)]
        give_up = time.monotonic() + 180
        while (load.submit() or _alive(poisoned)) and time.monotonic() < give_up:
            on.supervisor.tend()
            if len(poisoned) < how.poisoned and not _alive(poisoned):
                poisoned.append(_poison(on))
            time.sleep(0.05)
        deaths = on.supervisor.own_exits
        on.supervisor.own_exits = 0
        on.collect(load.ids)
        # The machine drifts within a minute: the mean of both is what it was in between.
        calm = (before + _calm(on, how, f"r9-after-{seed}")) / 2
    # The alarm comes after the commit.
    logs = (directory / "workers.log").read_text() + others()
    verdict = Verdict(kills=deaths)
    statuses = dict(Run.objects.filter(pk__in=poisoned).values_list("pk", "status"))
    not_quarantined = sum(status != RunStatus.QUARANTINED for status in statuses.values())
    innocents = Run.objects.filter(pk__in=load.ids)
    if deaths < len(poisoned):
        verdict.invalid.append("no worker died of it")
    hurt = _p95(load.ids)
    say(f"p95 of the innocents {calm:.2f} s without poison, {hurt:.2f} s with it")
    return report.row(
        "R9",
        runs=how.runs + len(poisoned),
        seed=seed,
        figure={
            "not_quarantined": not_quarantined,
            "deaths_a_poisoned_run": max(map(_claims, poisoned)),
            "innocents_quarantined": innocents.filter(status=RunStatus.QUARANTINED).count(),
            "innocents_not_succeeded": innocents.exclude(status=RunStatus.SUCCEEDED).count(),
            "alerts_missing_or_doubled": sum(
                abs(logs.count(f"run {run} {ALERT}") - 1) for run in poisoned
            ),
            "slower_p95_times": round(hurt / calm, 2),
        },
        target={"deaths_a_poisoned_run": MAX_DEATHS, "slower_p95_times": how.slower},
        verdict=verdict,
        also={"shared_workers_died": deaths},
    )


def _load(on: Rig, how: Size, name: str) -> Load:
    return Load(
        on.workspace,
        name,
        on.effects.url,
        runs=how.runs,
        at_once=how.at_once,
        script=tuple(letters.replace("R", "T") for letters in how.script),
    )


def _calm(on: Rig, how: Size, name: str) -> float:
    """The p95 of as many runs without poison."""
    load = _load(on, how, name)
    load.finish(on.supervisor.tend)
    return _p95(load.ids)


def _poison(on: Rig) -> UUID:
    agent, created = Agent.objects.get_or_create(
        workspace=on.workspace,
        name=POISONER,
        defaults={"system_prompt": "You break things.", "model": "openai:chaos", "queue": on.queue},
    )
    if created:
        ToolBinding.objects.create(agent=agent, tool="abort_process")
        publish_agent(agent)
    return start_run(on.workspace, TASK, agent=POISONER)


def _alive(runs: list[UUID]) -> bool:
    return Run.objects.filter(pk__in=runs).exclude(status__in=TERMINAL).exists()


def _claims(run_id: UUID) -> int:
    """How often it was begun; each time it took its process along."""
    return RunEvent.objects.filter(run_id=run_id, type="run.started").count()


def _p95(ids: list[UUID]) -> float:
    rows = Run.objects.filter(pk__in=ids, finished_at__isnull=False)
    spans = rows.values_list(F("finished_at") - F("created_at"), flat=True)
    return percentile([span.total_seconds() for span in spans], 0.95)
