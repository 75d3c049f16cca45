"""Agents of a test's own, and runs at work on a real worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Run, ToolBinding
from tests.clients import Client
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from heartbit_site.base.models import Workspace


@pytest.fixture
def solo(workspace: Workspace) -> Agent:
    """An agent that may ask for the time."""
    agent = Agent.objects.create(workspace=workspace, name="solo", system_prompt="Be brief.")
    ToolBinding.objects.create(agent=agent, tool="current_time")
    publish_agent(agent)
    return agent


@pytest.fixture
def submit(workspace: Workspace) -> Callable[..., UUID]:
    """Give the fleet a task."""

    def start(task: str, agent: str = "solo") -> UUID:
        return start_run(workspace, task, agent=agent, model="openai:fake")

    return start


@pytest.fixture
def admin_browser(database: None) -> Client:
    """Somebody who may do everything, in a browser."""
    client = Client(headers={"host": "localhost"})
    user, _ = User.objects.get_or_create(
        username="root-of-operations", defaults={"is_staff": True, "is_superuser": True}
    )
    client.force_login(user)
    return client


def statuses(runs: list[UUID]) -> list[str]:
    """Of these runs, in no order."""
    return list(Run.objects.filter(pk__in=runs).values_list("status", flat=True))
