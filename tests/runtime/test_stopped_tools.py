"""A stopped tool's calls: refused whatever was allowed, ended where they can be."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from agents.actions.decide_call import approve_call
from agents.actions.fleet import pause_work
from agents.choices import Placement, RunStatus
from agents.limits.pauses import of_tool
from agents.live.follow import wait_for_end
from agents.models.pause import Pause, PauseKind
from agents.runtime.execution.host import LocalHost
from agents.runtime.toolset.stopped_tools import StoppedTools
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import Effect
from tests.runtime.conftest import Studio
from tests.runtime.deciding import ANNA, waiting
from tests.starts import start_tool_call
from tests.tools.calls import EXECUTOR, Journal, context, made
from tools.calls.pipeline import PreparedCall, execute, prepare
from tools.calls.result import ToolResult
from tools.definitions.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django.fixtures import Settings

    from agents.models import Agent, Run

SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'


async def stop(studio: Studio, tool: str = "calculate", place: Workspace | None = None) -> None:
    """Stop a tool in the studio's workspace, or another; return once the process knows."""
    held = await orm.run_in_thread(lambda: of_tool(tool, place or studio.workspace))
    await orm.run_in_thread(lambda: pause_work(held, by=SYSTEM, reason="a drill"))
    await known(studio, tool, held.workspace or studio.workspace)


async def known(studio: Studio, tool: str, place: Workspace) -> None:
    """Return once the process knows that a tool is stopped; it has 2 s."""
    async with asyncio.timeout(2):
        while studio.host.process._stopped_tools.stop_reason(tool, place.pk) is None:
            await asyncio.sleep(0.02)


async def results(run: Run) -> list[tuple[str, str]]:
    return await orm.run_in_thread(
        lambda: [(call.status, call.result or "") for call in run.calls.order_by("id")]
    )


async def test_given_an_approval_when_the_tool_is_stopped_then_the_call_is_not_run(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), approval="always"))
    run_id = await studio.start(SUM)
    [call] = await waiting(studio, run_id)
    await stop(studio)
    await orm.run_in_thread(lambda: approve_call(call, by=ANNA, digest=call.digest))
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")
    [(status, text)] = await results(run)
    assert status == "refused"
    assert text.startswith("The tool calculate was stopped by Heartbit (a drill): go on without it")


async def test_given_a_stopped_tool_then_nobody_is_asked_to_approve_its_call(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), approval="always"))
    await stop(studio)
    run = await studio.run(SUM)
    [(status, _)] = await results(run)
    assert (run.status, status) == (RunStatus.SUCCEEDED, "refused")


async def test_given_a_tool_stopped_elsewhere_or_started_again_then_it_is_called(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    other = await orm.run_in_thread(
        lambda: Workspace.objects.create(slug=f"o{studio.workspace.slug}"[:50], name="Next door")
    )
    await stop(studio, place=other)
    assert await results(await studio.run(SUM)) == [("ok", "42")]


async def test_given_a_stopped_tool_then_a_run_that_is_a_call_of_it_fails_with_the_reason(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    await stop(studio)
    run_id = await orm.run_in_thread(
        lambda: start_tool_call(
            studio.workspace, "calculate", {"expression": "6*7"}, agent="solo", home=Placement.LOCAL
        )
    )
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.FAILED
    assert "The tool calculate was stopped by Heartbit (a drill)" in str(run.error)


async def test_given_a_stop_that_nobody_told_when_the_session_is_lost_then_it_is_known_at_once(
    workspace: Workspace, settings: Settings
) -> None:
    """What was told between two sessions was told to nobody."""
    settings.HEARTBIT_LEASE_SECONDS = 600  # no beat comes by itself
    studio = Studio(LocalHost(slots=1), workspace)
    await studio.host.start()
    control = studio.host.process.control

    def stop_and_cut() -> None:
        Pause.objects.create(kind=PauseKind.TOOL, tool="calculate", workspace=workspace, by="ann")
        assert control._session is not None
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [control._session.info.backend_pid])

    try:
        async with asyncio.timeout(2):
            await control._beaten.wait()  # what was told before it listened is known by now
        await orm.run_in_thread(stop_and_cut)
        await known(studio, "calculate", workspace)
    finally:
        await studio.host.stop()


ROW = {"tool": "wait", "workspace_id": None, "by": "ann", "reason": ""}


def prepared(function: Callable[..., object], effect: Effect) -> PreparedCall:
    spec = made(function, effect, name="wait")
    found = prepare(Registry([spec]), name="wait", arguments="{}", context=context())
    assert isinstance(found, PreparedCall)
    return found


async def executed(call: PreparedCall, stopped: StoppedTools) -> ToolResult:
    with stopped.track_call("wait", 1) as told:
        found = await execute(call, executor=EXECUTOR, journal=Journal(), stop=told)
    assert isinstance(found, ToolResult)
    return found


@pytest.mark.parametrize("effect", [Effect.PURE, Effect.AT_MOST_ONCE])
async def test_given_an_async_call_under_way_when_its_tool_is_stopped_then_it_is_ended(
    effect: Effect,
) -> None:
    began, cancelled = asyncio.Event(), False

    async def wait() -> None:
        nonlocal cancelled
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise

    stopped = StoppedTools()
    task = asyncio.ensure_future(executed(prepared(wait, effect), stopped))
    await began.wait()
    stopped.update([ROW | {"tool": "another"}, ROW | {"workspace_id": 2}])
    await asyncio.sleep(0)
    assert not task.done()
    stopped.update([ROW])
    done = await task
    assert cancelled
    assert (done.status, "was stopped by ann: go on" in done.content) == ("error", True)
    assert ("had its effect" in done.content) is (effect is not Effect.PURE)


@pytest.mark.parametrize("on_loop", [True, False])
async def test_given_a_tool_stopped_after_its_call_was_prepared_then_it_does_not_begin(
    *, on_loop: bool
) -> None:
    ran = False

    def wait() -> None:
        nonlocal ran
        ran = True

    async def wait_on_loop() -> None:
        wait()

    stopped = StoppedTools()
    stopped.update([ROW])
    done = await executed(prepared(wait_on_loop if on_loop else wait, Effect.IDEMPOTENT), stopped)
    assert (done.status, ran) == ("refused", False)


def test_what_is_known_of_a_tool_is_replaced_by_each_look() -> None:
    stopped = StoppedTools()
    stopped.update([ROW | {"workspace_id": 3, "reason": "a leak"}])
    assert stopped.stop_reason("wait", 4) is None
    why = stopped.stop_reason("wait", 3)
    assert why is not None
    assert "was stopped by ann (a leak):" in why
    stopped.update([])
    assert stopped.stop_reason("wait", 3) is None
