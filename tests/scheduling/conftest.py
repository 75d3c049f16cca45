"""Schedules of the test's own workspace."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from heartbit_site.base.audit import Actor
from scheduling.actions.fire_due import FailureBackoff
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import Kind
from scheduling.models import Schedule
from tests.runtime.conftest import agent, studio

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent
    from heartbit_site.base.models import Workspace

__all__ = ["agent", "studio"]

ANN = Actor("ann", "web")


@pytest.fixture(autouse=True)
def nothing_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no schedule of an earlier test stand aside: a fresh database gives its number again."""
    monkeypatch.setattr("scheduling.actions.fire_due._aside", FailureBackoff())


@pytest.fixture
def planned(workspace: Workspace, agent: Callable[..., Agent]) -> Callable[..., Schedule]:
    """Make and save a schedule of the agent ``solo``; by default each hour."""
    solo = agent()

    def make(**fields: object) -> Schedule:
        usual = {"kind": Kind.INTERVAL, "every_seconds": 3600} if "kind" not in fields else {}
        row = Schedule(
            **{"workspace": workspace, "agent": solo, "name": "Report", "task": "Report."}
            | usual
            | fields
        )
        save_schedule(row, by=ANN)
        return row

    return make


def let_pass(schedule: Schedule, by: timedelta) -> None:
    """Let so much time pass for a schedule: all its times are earlier by it."""
    schedule.refresh_from_db()
    for name in ("begins_at", "ends_at", "at", "next_occurrence", "next_at", "last_occurrence"):
        moment = getattr(schedule, name)
        if moment is not None:
            setattr(schedule, name, moment - by)
    schedule.save()


def utc(text: str) -> datetime:
    """A point in time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
