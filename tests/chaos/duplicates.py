"""R6: every message comes three times, in any order, up to two leases late.

A message is a nudge, so nothing may come of a copy: no second model call, no second effect.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from redis import Redis

from agents.models import Run
from tests.chaos import report
from tests.chaos.checker import judge
from tests.chaos.copies import copier
from tests.chaos.couriers import COURIER, SHORT_SCRIPT, add_agent
from tests.chaos.decider import Decider
from tests.chaos.journals import CAREFUL
from tests.chaos.load import Load
from tests.chaos.rig import Rig, rig, say
from tests.chaos.toolbox import agent_tools
from tests.fleet import wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from heartbit_site.base.models import Workspace


LEADER = "leader"


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        runs: How many in all; one in five asks people, the others have a sub-agent each.
        at_once: How many of them are unfinished at a time.
        leases: Copies follow within so many leases.
    """

    workers: int
    runs: int
    at_once: int
    leases: float


SIZES = {
    "small": Size(2, runs=16, at_once=16, leases=0.6),
    "full": Size(3, runs=1000, at_once=30, leases=2.0),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Deliver thrice and judge."""
    how = SIZES[size]
    longest = how.leases * settings.HEARTBIT_LEASE_SECONDS
    copying = {
        "HEARTBIT_EXTRA_APPS": f"{agent_tools.__package__},{copier.__package__}",
        "CHAOS_COPIES_SECONDS": str(longest),
    }
    with (
        rig(directory, workers=how.workers, model_ms=50, effect_ms=50, settings=copying) as on,
        copier.installed(settings.REDIS_URL, longest=longest),
    ):
        add_agent(on.workspace, LEADER, queue=on.queue, team=(COURIER,))
        load = Load(
            on.workspace,
            f"r6-{seed}",
            on.effects.url,
            runs=how.runs,
            at_once=how.at_once,
            careful_every=5,
            script=SHORT_SCRIPT,
            start=_start,
        )
        with Decider(on.workspace, seed=seed, journal=on.decisions):
            load.finish(on.supervisor.tend)
        say(f"{how.runs} runs have ended; waiting for the last copies")
        time.sleep(longest)  # what was published last may be copied so much later
        wait_until(lambda: not _hanging(on), what="the last copies are consumed")
        copies = _copies(on)
        tree = Run.objects.filter(root_id__in=load.ids).values_list("pk", flat=True)
        left = on.collect(list(tree))
    verdict = judge(left)
    seen = Counter(event.type for run in left.runs for event in run.events)
    if seen["run.requeued"]:
        verdict.invalid.append(
            f"a machine too busy for heartbeats cost {seen['run.requeued']} slices"
        )
    if copies < 2 * len(left.runs):
        verdict.invalid.append(f"only {copies} copies were sent for {len(left.runs)} runs")
    return report.row(
        "R6",
        runs=how.runs,
        seed=seed,
        figure=report.promises(verdict),
        target={},
        verdict=verdict,
        also={
            "runs_with_sub_agents": len(left.runs),
            "slices": seen["run.started"],
            "copies_delivered": copies,
            "copies_up_to_s": longest,
        },
    )


def _start(workspace: Workspace, text: str, agent: str) -> UUID:
    """Let a leader delegate what a courier is asked: a chord's messages are copied as well."""
    if agent == CAREFUL:
        return start_run(workspace, text, agent=agent)
    name = text.partition("]]")[0]  # of the courier's run; the leader's is another
    told = json.dumps({"agent": agent, "task": text})
    return start_run(workspace, f"{name}-led]] [[delegate: {told}]]", agent=LEADER)


def _hanging(on: Rig) -> int:
    with Redis.from_url(settings.REDIS_URL) as valkey:
        return int(valkey.llen(on.queue))


def _copies(on: Rig) -> int:
    with Redis.from_url(settings.REDIS_URL) as valkey:
        return int(valkey.get(f"copies:{on.queue}") or 0)
