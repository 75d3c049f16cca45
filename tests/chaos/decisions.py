"""Runs that ask people: woken as a sweeper does, and decided by two people at the same moment."""

from __future__ import annotations

import asyncio
from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING, Any, Final

from agents.actions.waits import answer_wait
from agents.choices import TERMINAL, RunStatus
from agents.errors import CallClosedError
from agents.models import Run, Wait
from agents.querysets import waits_for_answers
from agents.runs.sql_functions import call_function
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from tests.pace import GaveUp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from agents.runtime.execution.host import LocalHost
    from tests.chaos.graphs.deaths import Death

SECONDS: Final = 60


async def ended(
    host: LocalHost, run_id: UUID, answers: Sequence[dict[str, Any]], death: Death
) -> tuple[Run, list[int]]:
    """Decide about a run until it has ended; return it, and how many won each decision."""
    due, won = list(answers), list[int]()
    host.execute(run_id)
    until = asyncio.get_running_loop().time() + SECONDS
    while asyncio.get_running_loop().time() < until:
        run, wait = await orm.run_in_thread(partial(_look, run_id, death))
        if run.status in TERMINAL:
            return run, won
        if wait is not None:
            decide = partial(_decide, wait, due.pop(0))
            won.append(await orm.run_in_thread(partial(at_once, decide)))
        if run.status == RunStatus.QUEUED or wait is not None:
            host.execute(run_id)
        await asyncio.sleep(0.005)
    raise GaveUp(f"run {run_id} has not ended after {SECONDS} s")


def at_once(act: Callable[[str], int]) -> int:
    """Let two people act at the same moment; return how often it was done."""
    barrier = Barrier(2)

    def one(name: str) -> int:
        barrier.wait()
        return act(name)

    with orm.OrmExecutor(2, name="people") as pool:
        return sum(pool.map(one, ("ann", "bob")))


def _look(run_id: UUID, death: Death) -> tuple[Run, Wait | None]:
    if death.victim is not None:
        parameters = (*death.victim._held(), "its worker died", 0)
        call_function("SELECT heartbit_release(%s, %s, %s, %s)", parameters)
    return Run.objects.get(pk=run_id), waits_for_answers().filter(run=run_id).first()


def _decide(wait: Wait, answer: dict[str, Any], name: str) -> int:
    try:
        answer_wait(wait, answer, by=Actor(name, "web"))
    except CallClosedError:
        return 0
    return 1
