"""R31: whenever a process dies, a paid order has one run, and that run packs it once.

The payment is a process of its own, killed before its commit and after it. The run is a workflow
with a transactional function; its slices die at every write.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from django.contrib.auth.models import Group

from agents.actions.save_agent import create_agent
from agents.choices import Placement, RunStatus
from agents.models import BlackboardEntry, Run
from agents.runtime.execution import workflow_complaints, workflows
from agents.runtime.execution.host import LocalHost
from agents.workflows.executors.context import Context
from agents.workflows.executors.executor import executor
from agents.workflows.executors.registry import ExecutorRegistry
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.decisions import ended
from tests.chaos.graphs.deaths import Death, dying
from tests.chaos.triggers.orders import NAME, PAID, WORKSPACE, follow_orders, leave_orders
from tests.chaos.triggers.payment import MOMENTS
from tests.server_process import ROOT

if TYPE_CHECKING:
    from pathlib import Path

#: Payments that die at each moment, and times that every write of a run is died at.
SIZES: Final = {"small": (2, 3), "full": (20, 40)}
_COMMITTED: Final = "committed"


@dataclass(slots=True)
class Found:
    """Counts of all payments and runs.

    Attributes:
        row_without_run: Payments without their run, and runs without their payment.
        not_run_once: Payments that started more than one run.
        not_packed_once: Runs that have succeeded with another number of effects.
    """

    payments: int = 0
    runs: int = 0
    deaths: int = 0
    row_without_run: int = 0
    not_run_once: int = 0
    not_packed_once: int = 0
    faults: list[str] = field(default_factory=list)


@executor(effect="transactional", timeout_seconds=30)
def pack_order(order: dict[str, Any], context: Context) -> str:
    """Pack an order; each execution that commits is a row of its own."""
    run, _, _ = context.idempotency_key.partition(":")
    name = f"{context.idempotency_key}#{secrets.token_hex(8)}"
    BlackboardEntry.objects.create(root_id=run, key=name, value=order["order"], author="chaos")
    return f"packed {order['order']}"


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Let payments and slices die, and count."""
    slug = f"r31-{secrets.token_hex(4)}"
    workspace = Workspace.objects.create(slug=slug, name=slug)
    payments, times = SIZES[size]
    registry = ExecutorRegistry()
    registry.add_all([pack_order])
    found = Found()
    with (
        patch.dict(os.environ, {WORKSPACE: slug}),
        patch.object(workflows, "installed_executors", lambda: registry),
        patch.object(workflow_complaints, "installed_executors", lambda: registry),
    ):
        create_agent(workspace, _packer(), by=SYSTEM)
        follow_orders()
        try:
            for moment in MOMENTS * payments:
                _pay_and_die(workspace, moment, found)
            asyncio.run(_all_runs(workspace, times, found))
        finally:
            leave_orders()
    verdict = Verdict(faults=found.faults[:20])
    if found.deaths < found.runs / 2:
        verdict.invalid.append(f"in {found.runs} runs only {found.deaths} slices died")
    figure = {
        "row_without_run": found.row_without_run,
        "not_run_once": found.not_run_once,
        "not_packed_once": found.not_packed_once,
    }
    return report.row(
        "R31",
        runs=found.runs,
        seed=seed,
        figure=figure,
        target={},
        verdict=verdict,
        also={"payments_died": found.payments, "slices_died": found.deaths},
    )


def _packer() -> WorkflowSpec:
    node = {"name": "pack", "function": "pack_order"}
    return WorkflowSpec.model_validate({"name": "packer", "nodes": [node], "start": "pack"})


def _order() -> Group:
    return Group.objects.create(name=f"r31-new-{secrets.token_hex(6)}")


def _runs_of(workspace: Workspace, order: Group) -> list[Run]:
    started = Run.objects.filter(workspace=workspace, started_by=f"trigger {NAME}")
    return [run for run in started if f"{PAID}{order.pk}" in run.task.split('"')]


def _pay_and_die(workspace: Workspace, moment: str, found: Found) -> None:
    """Pay in a process that dies; the row is paid exactly if the run is there."""
    order = _order()
    command = [sys.executable, "-m", "tests.chaos.triggers.payment", moment, str(order.pk)]
    died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found.payments += 1
    if died.returncode >= 0:
        found.faults.append(f"the payment did not die when {moment}: {died.stderr[-500:]}")
        return
    order.refresh_from_db()
    runs = _runs_of(workspace, order)
    is_paid = order.name.startswith(PAID)
    found.row_without_run += is_paid != bool(runs)
    found.not_run_once += len(runs) > 1
    if is_paid != (moment == _COMMITTED):
        found.faults.append(f"a payment that died when {moment} has left {order.name}")


async def _all_runs(workspace: Workspace, times: int, found: Found) -> None:
    host = LocalHost(slots=8)
    await host.start()
    try:
        for _ in range(times):
            unharmed = Death()
            await _play(host, workspace, unharmed, found)
            for number in range(1, unharmed.writes + 1):
                for is_after in (False, True):
                    await _play(host, workspace, Death(number, is_after), found)
    finally:
        await host.stop()


async def _play(host: LocalHost, workspace: Workspace, death: Death, found: Found) -> None:
    """Pay an order here, and let a slice of its run die."""
    runs = await orm.run_in_thread(partial(_pay, workspace))
    found.not_run_once += len(runs) != 1
    for run in runs:
        with dying(death):
            over, _ = await ended(host, run.pk, (), death)
        found.runs += 1
        found.deaths += death.victim is not None
        booked = BlackboardEntry.objects.filter(root_id=run.pk)
        effects = await orm.run_in_thread(booked.count)
        if over.status != RunStatus.SUCCEEDED:
            found.faults.append(f"the run {run.pk} has ended {over.status}: {over.error}")
        found.not_packed_once += effects != 1


def _pay(workspace: Workspace) -> list[Run]:
    order = _order()
    order.name = f"{PAID}{order.pk}"
    order.save()
    runs = _runs_of(workspace, order)
    # The host of this process executes them, with the slices that die.
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(home=Placement.LOCAL)
    return runs
