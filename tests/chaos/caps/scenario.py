"""R32: whatever write a worker dies at, a cap asks once, and its owner's word holds.

Two people answer each question at the same moment. Where the answer is to stop, no model is asked.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from agents.actions.quotas import save_budget
from agents.actions.save_agent import create_agent
from agents.choices import Placement, RunStatus
from agents.definitions.spec import AgentSpec
from agents.models import Budget, RunEvent
from agents.runtime.execution.host import LocalHost
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.decisions import ended
from tests.chaos.graphs.deaths import Death, dying
from tests.fleet import WireServer
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

#: Times that every write of every case is died at.
SIZES: Final = {"small": 1, "full": 15}


@dataclass(frozen=True, slots=True)
class Case:
    """A cap that asks, and the owner's word.

    Attributes:
        cap: ``budget`` (of the workspace, beyond its threshold) or ``price`` (a limit in US dollars
            on a model without a price).
        word: The decision.
    """

    cap: str
    word: str


CASES: Final = tuple(
    Case(cap, word) for cap in ("budget", "price") for word in ("continue", "stop")
)


@dataclass(slots=True)
class Found:
    """Counts of all runs; ``different`` has sentences about runs that ended otherwise."""

    runs: int = 0
    deaths: int = 0
    different: list[str] = field(default_factory=list)
    not_asked_once: int = 0
    decided_twice: int = 0
    spent_after_stop: int = 0


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Let slices die while a cap asks, decide at once, and count."""
    found = Found()
    with WireServer(ledger=directory / "model.jsonl") as wire:
        given = {"OPENAI_BASE_URL": wire.url, "OPENAI_API_KEY": "test"}
        with patch.dict(os.environ, given):
            asyncio.run(_all_cases(wire, SIZES[size], found))
    verdict = Verdict(faults=found.different[:20])
    if found.deaths < found.runs / 2:
        verdict.invalid.append(f"in {found.runs} runs only {found.deaths} slices died")
    figure = {
        "ended_differently": len(found.different),
        "not_asked_once": found.not_asked_once,
        "decided_twice": found.decided_twice,
        "spent_after_stop": found.spent_after_stop,
    }
    return report.row(
        "R32",
        runs=found.runs,
        seed=seed,
        figure=figure,
        target={},
        verdict=verdict,
        also={"slices_died": found.deaths},
    )


async def _all_cases(wire: WireServer, times: int, found: Found) -> None:
    host = LocalHost(slots=8)
    await host.start()
    try:
        for case in CASES * times:
            unharmed = Death()
            await _play(host, wire, case, unharmed, found)
            for number in range(1, unharmed.writes + 1):
                for is_after in (False, True):
                    await _play(host, wire, case, Death(number, is_after), found)
    finally:
        await host.stop()


async def _play(host: LocalHost, wire: WireServer, case: Case, death: Death, found: Found) -> None:
    before = wire.stats()["requests"]
    with dying(death):
        run_id = await orm.run_in_thread(partial(_start, case))
        run, won = await ended(host, run_id, [{"decision": case.word}], death)
    found.runs += 1
    found.deaths += death.victim is not None
    found.decided_twice += won != [1]
    found.spent_after_stop += case.word == "stop" and wire.stats()["requests"] != before
    asked = RunEvent.objects.filter(run=run, type="budget.asked")
    found.not_asked_once += await orm.run_in_thread(asked.count) != 1
    end = (run.status, run.output or (run.error or {}).get("limit"))
    due = {
        "continue": (RunStatus.SUCCEEDED, "Done."),
        "stop": (RunStatus.FAILED, "budget"),
    }[case.word]
    if end != due:
        when = "after" if death.is_after else "before"
        found.different.append(f"{case}, died {when} write {death.number}: {end}")


def _start(case: Case) -> UUID:
    """Start a run in a workspace of its own: a cap that was let go on asks no other run."""
    slug = f"r32-{secrets.token_hex(4)}"
    workspace = Workspace.objects.create(slug=slug, name=slug)
    spec = AgentSpec(
        name="writer",
        description="Writes.",
        system_prompt="Write.",
        model="openai:fake",
        max_run_cost_usd=Decimal(5) if case.cap == "price" else None,
    )
    create_agent(workspace, spec, by=SYSTEM)
    if case.cap == "budget":
        budget = Budget(workspace=workspace, period="month", max_tokens=100_000, ask_at=90)
        save_budget(budget)
        Budget.objects.filter(pk=budget.pk).update(spent_tokens=91_000)
    return start_run(workspace, "[[text: Done.]]", agent="writer", home=Placement.LOCAL)
