"""A limit of one run at a time on a real worker: teams end all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import Run
from tests.fleet import wait_until
from tests.quotas.limited import give_tier
from tests.starts import start_run

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker

MODEL = "openai:fake"
TEAM = (
    '[[delegate: {"agent": "researcher", "task": "[[text: Facts.]]"},'
    ' {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Together.]]'
)


def all_ended(runs: list[UUID]) -> bool:
    rows = Run.objects.filter(pk__in=runs)
    assert not rows.filter(status__in=("failed", "cancelled", "quarantined")).exists()
    return rows.filter(status="succeeded").count() == len(runs)


def test_given_one_at_a_time_then_orchestrators_and_their_teams_end(
    worker: Worker, workspace: Workspace
) -> None:
    give_tier(workspace, runs_at_once=1)
    runs = [start_run(workspace, TEAM, model=MODEL) for _ in range(4)]
    wait_until(lambda: all_ended(runs), seconds=40, what="four teams")
    assert Run.objects.filter(workspace=workspace, status="succeeded").count() == 12
