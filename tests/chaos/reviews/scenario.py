"""R30: whatever write a worker dies at, a reviewed result is decided and delivered once.

Two people answer each review at the same moment, and two processes deliver: one of each wins.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from agents.actions.deliver_results import deliver_results
from agents.actions.save_agent import create_agent
from agents.choices import Placement, RunStatus
from agents.definitions.spec import AgentSpec
from agents.delivery.targets import WebhookTarget
from agents.models import Run, WebhookDelivery, WebhookEndpoint
from agents.runtime.execution.host import LocalHost
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.decisions import at_once, ended
from tests.chaos.graphs.deaths import Death, dying
from tests.fleet import WireServer
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

#: Times that every write of every case is died at.
SIZES: Final = {"small": 1, "full": 15}
_DECISIONS: Final = {
    "approve": {},
    "changes": {"message": "[[text: Second.]]"},
    "edit": {"result": "Mine."},
    "reject": {"message": "No."},
}


@dataclass(frozen=True, slots=True)
class Case:
    """What the reviewers decide, and the end that it leads to."""

    agent: str
    decisions: tuple[str, ...]
    status: str
    output: str | None


CASES: Final = (
    Case("writer", ("approve",), "succeeded", "First."),
    Case("writer", ("changes", "approve"), "succeeded", "Second."),
    Case("writer", ("edit",), "succeeded", "Mine."),
    Case("writer", ("reject",), "failed", None),
    Case("report", ("edit",), "succeeded", "Mine."),
)


@dataclass(slots=True)
class Found:
    """Counts of all runs; ``different`` has sentences about runs that ended otherwise."""

    runs: int = 0
    deaths: int = 0
    different: list[str] = field(default_factory=list)
    decided_twice: int = 0
    not_delivered_once: int = 0
    unsigned: int = 0


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Let slices die, decide at once, and count."""
    slug = f"r30-{secrets.token_hex(4)}"
    workspace = Workspace.objects.create(slug=slug, name=slug)
    found = Found()
    with WireServer(ledger=directory / "model.jsonl") as wire:
        given = {"OPENAI_BASE_URL": wire.url, "OPENAI_API_KEY": "test"}
        with patch.dict(os.environ, given):
            _publish(workspace)
            asyncio.run(_all_cases(workspace, SIZES[size], found))
    verdict = Verdict(faults=found.different[:20])
    if found.deaths < found.runs / 2:
        verdict.invalid.append(f"in {found.runs} runs only {found.deaths} slices died")
    figure = {
        "ended_differently": len(found.different),
        "decided_twice": found.decided_twice,
        "not_delivered_once": found.not_delivered_once,
        "unsigned": found.unsigned,
    }
    return report.row(
        "R30",
        runs=found.runs,
        seed=seed,
        figure=figure,
        target={},
        verdict=verdict,
        also={"slices_died": found.deaths},
    )


def _publish(workspace: Workspace) -> None:
    writer = AgentSpec(
        name="writer",
        description="Writes.",
        system_prompt="Write.",
        model="openai:fake",
        review="anyone",
    )
    table = {
        "name": "report",
        "nodes": [{"name": "say", "set": {"text": "First."}}],
        "state": {"text": {}},
        "start": "say",
        "review": "anyone",
    }
    for spec in (writer, WorkflowSpec.model_validate(table)):
        create_agent(workspace, spec, by=SYSTEM)


async def _all_cases(workspace: Workspace, times: int, found: Found) -> None:
    host = LocalHost(slots=8)
    await host.start()
    try:
        for case in CASES * times:
            unharmed = Death()
            await _play(host, workspace, case, unharmed, found)
            for number in range(1, unharmed.writes + 1):
                for is_after in (False, True):
                    await _play(host, workspace, case, Death(number, is_after), found)
    finally:
        await host.stop()


async def _play(
    host: LocalHost, workspace: Workspace, case: Case, death: Death, found: Found
) -> None:
    with dying(death):
        run_id = await orm.run_in_thread(partial(_start, workspace, case.agent))
        answers = [{"decision": one, **_DECISIONS[one]} for one in case.decisions]
        run, won = await ended(host, run_id, answers, death)
        found.decided_twice += sum(number != 1 for number in won)
    found.runs += 1
    found.deaths += death.victim is not None
    end = (run.status, run.output)
    if end != (case.status, case.output):
        when = "after" if death.is_after else "before"
        found.different.append(f"{case}, died {when} write {death.number}: {end}")
    await orm.run_in_thread(partial(_judge_delivery, run, found))


def _start(workspace: Workspace, agent: str) -> UUID:
    endpoint, _ = WebhookEndpoint.objects.get_or_create(
        workspace=workspace, name="nowhere", defaults={"url": "https://example.org/", "events": []}
    )
    return start_run(
        workspace,
        "[[text: First.]]",
        agent=agent,
        home=Placement.LOCAL,
        deliveries=(WebhookTarget(kind="webhook", endpoint=endpoint.pk),),
    )


def _judge_delivery(run: Run, found: Found) -> None:
    at_once(lambda _: deliver_results())
    payloads = WebhookDelivery.objects.filter(run_id=run.pk).values_list("payload", flat=True)
    found.not_delivered_once += len(payloads) != 1
    by = [payload["data"]["reviewed_by"] for payload in payloads]
    is_signed = by in (["ann"], ["bob"]) if run.status == RunStatus.SUCCEEDED else by == [None]
    found.unsigned += not is_signed
