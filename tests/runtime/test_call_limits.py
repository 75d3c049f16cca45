"""The time limit of a call: the least of the tool's own, the binding's and the agent's."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.models import ToolBinding
from heartbit_site.base import orm
from heartbit_site.base.toolspec import Effect, spec_of
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent
    from tests.runtime.conftest import Studio

ENDED = threading.Semaphore(0)


def dawdle() -> str:
    """Take longer than one second."""
    time.sleep(1.5)
    ENDED.release()
    return "done"


@pytest.mark.parametrize(
    ("effect", "own", "binding", "agents"),
    [
        (Effect.PURE, 60, 1, 60),
        (Effect.TRANSACTIONAL, 60, 1, 60),
        (Effect.PURE, 1, 600, 60),
        (Effect.PURE, 60, 600, 1),
    ],
)
async def test_the_least_limit_holds(
    studio: Studio,
    agent: Callable[..., Agent],
    monkeypatch: pytest.MonkeyPatch,
    effect: Effect,
    own: int,
    binding: int,
    agents: int,
) -> None:
    spec = spec_of(dawdle, effect=effect, timeout_seconds=own)
    monkeypatch.setitem(registry, "dawdle", spec)

    def bound() -> None:
        row = agent(tools=("dawdle",), tool_timeout_seconds=agents)
        ToolBinding.objects.filter(agent=row).update(timeout_seconds=binding)
        publish_agent(row)

    await orm.run_in_thread(bound)
    run = await studio.run("[[calls: dawdle {}]] [[text: Done.]]")
    call = await orm.run_in_thread(run.calls.get)
    assert (call.status, (call.result or "").partition(" within ")[2][:3]) == ("timeout", "1 s")
    # The thread of a late call keeps its connection until it ends.
    assert await orm.run_in_thread(lambda: ENDED.acquire(timeout=10))
    await asyncio.sleep(0.3)
