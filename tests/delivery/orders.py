"""Runs whose result was ordered for somebody, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone

from agents.actions.admit import create_deliveries
from agents.delivery.targets import check_targets
from agents.models import Agent, Delivery, Run
from tests.admin import rows
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from heartbit_site.base.models import Workspace

ADA = "ada@example.org"
TO_ADA = {"kind": "email", "to": [ADA]}


def order(workspace: Workspace, run_id: UUID, *targets: dict[str, Any]) -> None:
    create_deliveries(run_id, workspace, check_targets(workspace, list(targets)))


def ordered(
    workspace: Workspace, targets: Sequence[dict[str, Any]] = (TO_ADA,), task: str = "Why?"
) -> rows.Held:
    """A run that a worker holds."""
    # No worker of the tests may take it before.
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    run_id = start_run(workspace, task, agent="writer", model=rows.MODEL)
    order(workspace, run_id, *targets)
    return rows.Held(run_id)


def ended(
    workspace: Workspace,
    targets: Sequence[dict[str, Any]] = (TO_ADA,),
    *,
    task: str = "Why?",
    output: str = "Because.",
) -> Run:
    """A run that succeeded."""
    held = ordered(workspace, targets, task)
    held.record(rows.answer(1, output))
    held.finish(output)
    return Run.objects.get(pk=held.id)


def row_of(run: Run | UUID) -> Delivery:
    """The only delivery of a run, as it is now."""
    return Delivery.objects.select_related("workspace").get(run_id=getattr(run, "pk", run))


def make_due(run: Run | UUID) -> None:
    """Let the time of the next attempt come."""
    Delivery.objects.filter(run_id=getattr(run, "pk", run)).update(next_at=timezone.now())
