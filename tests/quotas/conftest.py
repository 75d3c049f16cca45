"""A worker whose claims are made by hand, and two workspaces whose runs no other worker takes."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.conf import settings

from agents.choices import Placement
from agents.models import Run, WorkerHeartbeat
from agents.runs.claims import Claimant
from agents.runtime.recovery.control_session import LOCK_CLASS
from tests.quotas.limited import new_workspace, park

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace


@pytest.fixture
def queue() -> str:
    """A queue that no worker serves."""
    return f"q-{secrets.token_hex(6)}"


@pytest.fixture
def fleet(database: None, queue: str) -> Iterator[Claimant]:
    """A worker of the fleet that serves the queue; its lock says that it lives."""
    row = WorkerHeartbeat.objects.create(
        name=f"test:{queue}", home=Placement.FLEET, queues=[queue], lease_seconds=3600
    )
    with psycopg.connect(settings.DATABASE_DIRECT_URL, autocommit=True) as alive:
        alive.execute("SELECT pg_advisory_lock(%s, %s)", (LOCK_CLASS, row.pk))
        yield Claimant(row.pk, row.name, Placement.FLEET, (queue,), "openai:fake")
    Run.objects.filter(worker=row).update(status="queued", worker=None)
    Run.objects.filter(queue=queue).update(queue="nobody-serves-this")
    row.delete()


@pytest.fixture
def mine(workspace: Workspace, queue: str) -> Workspace:
    park(workspace, queue)
    return workspace


@pytest.fixture
def theirs(database: None, queue: str) -> Workspace:
    found = new_workspace()
    park(found, queue)
    return found
