"""The agent loop, end to end in one process: model at the wire, journal in Postgres."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from agents.actions.fleet import set_agent_state
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run, steer_run
from agents.choices import RunStatus
from agents.live.follow import follow, wait_for_end
from agents.live.updates import DeltaUpdate, ProgressUpdate
from agents.loop.delegation import SUB_AGENT_NOTE
from agents.models import Agent, Run, ToolCall, Wait
from agents.runtime.toolset.toolbox import RunToolbox
from heartbit_site.base import orm
from heartbit_site.base.models import UsageEntry
from heartbit_site.base.toolspec import Effect, ToolContext, spec_of
from heartbit_site.operations.turn_views import describe_turn
from tests.pace import in_time
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from uuid import UUID

    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]


async def calls_of(run: Run) -> list[ToolCall]:
    return await orm.run_in_thread(lambda: list(run.calls.order_by("id")))


async def writes_of(*runs: Run) -> list[list[str]]:
    """The events of these runs, by the transactions that wrote them."""

    def read() -> list[list[str]]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT array_agg(type ORDER BY run_id, seq) FROM agents_runevent"
                " WHERE run_id = ANY (%s) GROUP BY xmin::text::bigint ORDER BY xmin::text::bigint",
                [[run.pk for run in runs]],
            )
            return [row[0] for row in cursor.fetchall()]

    return await orm.run_in_thread(read)


async def test_an_answer_is_the_output(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(agent)
    run = await studio.run("[[text: Forty-two.]]")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Forty-two.")
    assert [event.type for event in await studio.events(run)] == [
        "run.created",
        "run.started",
        "model.answered",
        "run.succeeded",
    ]
    assert run.output_tokens > 0
    answered = (await studio.events(run))[2]
    assert answered.payload["model"] == "openai:fake", "the ledger's name, not the server's"


async def test_the_text_streams_while_the_run_works(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(agent)
    run_id = await studio.start("[[text: One two three four.]] [[chunks: 4]] [[stream: 100]]")
    updates = [update async for update in follow(run_id, studio.host.window)]
    deltas = [update.delta for update in updates if isinstance(update, DeltaUpdate)]
    assert "".join(delta.text for delta in deltas) == "One two three four."
    assert [delta.offset for delta in deltas] == sorted(delta.offset for delta in deltas)


async def test_a_tool_shows_its_progress_while_it_runs(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dig(context: ToolContext) -> str:
        """Dig."""
        context.emit("Half\n of it.")
        context.emit("Too soon after the first.")
        return "Dug."

    monkeypatch.setitem(registry, "dig", spec_of(dig, effect=Effect.PURE))
    await orm.run_in_thread(lambda: agent(tools=("dig",)))
    run_id = await studio.start("[[calls: dig {}]] [[text: Done.]]")
    updates = [update async for update in follow(run_id, studio.host.window)]
    [said] = [update.progress for update in updates if isinstance(update, ProgressUpdate)]
    assert (said.call_id, said.text) == ("1.0", "Half of it.")


async def test_parallel_tools_answer_in_one_turn(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate", "current_time")))
    run = await studio.run(
        '[[calls: calculate {"expression": "6*7"}, current_time {}]] [[text: Done.]]'
    )
    assert run.output == "Done."
    calls = await calls_of(run)
    assert [(call.call_id, call.status, call.effect) for call in calls] == [
        ("1.0", "ok", "pure"),
        ("1.1", "ok", "pure"),
    ]
    assert calls[0].result == "42"
    types = [event.type for event in await studio.events(run)]
    assert types[2:] == [
        "model.answered",
        "tool.finished",
        "tool.finished",
        "model.answered",
        "run.succeeded",
    ]


@pytest.mark.parametrize(
    ("directive", "status", "says"),
    [
        ('calculate {"expression": "1/0"}', "error", "zero"),
        ('calculate {"expresion": "1+1"}', "invalid", "expression"),
        ('calculat_or {"expression": "1+1"}', "invalid", "calculate"),
        ('Calculate {"expression": "1+1"}', "ok", "2"),
    ],
)
async def test_a_bad_call_is_answered_and_never_ends_the_run(
    studio: Studio, agent: Create, directive: str, status: str, says: str
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    run = await studio.run(f"[[calls: {directive}]] [[text: Done.]]")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")
    (call,) = await calls_of(run)
    assert call.status == status
    assert says in (call.result or "")


async def test_an_at_most_once_tool_journals_its_intent_first(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_request",)))
    run = await studio.run(
        '[[calls: http_request {"method": "POST", "url": "http://127.0.0.1:9/"}]] [[text: Done.]]'
    )
    types = [event.type for event in await studio.events(run)]
    assert types[3:5] == ["tool.started", "tool.finished"]
    (call,) = await calls_of(run)
    assert call.status == "error", "the guard refuses an address that is not public"


async def test_a_transactional_tool_and_its_result_are_one(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("blackboard_write", "blackboard_read")))
    run = await studio.run(
        '[[calls: blackboard_write {"key": "k", "value": "shared"}]]'
        '[[then: blackboard_read {"key": "k"}]] [[text: Done.]]'
    )
    written, read = await calls_of(run)
    assert (written.status, written.effect) == ("ok", "transactional")
    assert (read.status, read.result) == ("ok", "shared")
    types = [event.type for event in await studio.events(run)]
    assert "tool.started" not in types, "no intent: there is no moment in between"


class TestLimits:
    async def test_max_turns(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(lambda: agent(tools=("current_time",), max_turns=2))
        run = await studio.run("[[calls: current_time {}]] [[rounds: 9]]")
        assert run.status == RunStatus.FAILED
        assert run.error == {
            "kind": "limit",
            "limit": "max_turns",
            "message": "Stopped after 2 turns (max_turns of solo).",
        }

    async def test_working_time_keeps_what_was_streamed(
        self, studio: Studio, agent: Create
    ) -> None:
        await orm.run_in_thread(lambda: agent(timeout_seconds=1))
        run = await studio.run("[[text: Slow words that drip.]] [[chunks: 9]] [[stream: 9000]]")
        assert run.error is not None
        assert run.error["limit"] == "timeout_seconds"
        assert "Slow words that drip.".startswith(run.output or "-")

    async def test_tool_output(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(
            lambda: agent(tools=("blackboard_write", "blackboard_read"), max_tool_output_bytes=256)
        )
        run = await studio.run(
            '[[calls: blackboard_write {"key": "k", "value": "' + "x" * 2000 + '"}]]'
            '[[then: blackboard_read {"key": "k"}]] [[text: Done.]]'
        )
        calls = await calls_of(run)
        assert len((calls[1].result or "").encode()) <= 256


async def test_a_defect_while_tools_are_served_ends_the_run_once(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def prepare(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(RunToolbox, "prepare", prepare)
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    run = await studio.run('[[calls: calculate {"expression": "1"}]] [[text: Done.]]')
    assert run.status == RunStatus.FAILED
    assert run.error is not None
    assert "internal error (RuntimeError)" in run.error["message"]
    assert "run.requeued" not in [event.type for event in await studio.events(run)]


class TestDelegation:
    # Each answer takes longer than a busy machine needs to begin with all three.
    TEAM = (
        '[[delegate: {"agent": "researcher", "task": "[[text: Facts.]] [[latency: 1500]]"},'
        ' {"agent": "analyst", "task": "[[calls: calculate {\\"expression\\": \\"2+2\\"}]]'
        ' [[text: Four.]] [[latency: 1500]]"},'
        ' {"agent": "writer", "task": "[[text: Prose.]] [[latency: 1500]]"}]]'
        " [[text: All together.]]"
    )

    async def test_three_children_work_in_parallel_and_their_results_come_back(
        self, studio: Studio
    ) -> None:
        run = await studio.run(self.TEAM, agent="orchestrator")
        assert (run.status, run.output) == (RunStatus.SUCCEEDED, "All together.")
        children = await orm.run_in_thread(lambda: list(run.children.order_by("agent")))
        assert [(child.agent, child.output) for child in children] == [
            ("analyst", "Four."),
            ("researcher", "Facts."),
            ("writer", "Prose."),
        ]
        (call,) = await calls_of(run)
        assert call.result == "researcher: Facts.\n\nanalyst: Four.\n\nwriter: Prose."
        assert overlap(children)
        board = await orm.run_in_thread(lambda: dict(run.blackboard.values_list("key", "value")))
        assert board == {
            "agent:analyst": "Four.",
            "agent:researcher": "Facts.",
            "agent:writer": "Prose.",
        }

    async def test_a_delegating_answer_with_its_child_and_the_last_end_are_one_write_each(
        self, studio: Studio
    ) -> None:
        run = await studio.run(
            '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Done.]]',
            agent="orchestrator",
        )
        assert run.output == "Done."
        child = await orm.run_in_thread(lambda: run.children.get())
        assert await writes_of(run, child) == [
            ["run.created"],
            ["run.started"],
            ["model.answered", "call.waiting", "run.created", "run.started"],
            ["wait.resolved", "run.started", "model.answered", "run.succeeded"],
            ["tool.finished"],
            ["model.answered", "run.succeeded"],
        ]
        entries = UsageEntry.objects.filter(run_id=run.pk).values_list("output_tokens", flat=True)
        assert run.output_tokens == await orm.run_in_thread(lambda: sum(entries)) > 0

    async def test_a_message_while_the_model_delegates_costs_no_answer(
        self, studio: Studio
    ) -> None:
        run_id = await studio.start(
            '[[latency: 1500]] [[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]]'
            " [[text: Done.]]",
            agent="orchestrator",
        )
        running = Run.objects.filter(pk=run_id, status="running")
        async with asyncio.timeout(20):
            while not await orm.run_in_thread(running.exists):
                await asyncio.sleep(0.02)
        await orm.run_in_thread(lambda: steer_run(running.get(), "[[text: Done.]]"))
        run = await wait_for_end(run_id, studio.host.window)
        assert run.status == RunStatus.SUCCEEDED
        assert await orm.run_in_thread(run.children.count) == 1
        kinds = [event.type for event in await studio.events(run)]
        assert kinds[2:5] == ["run.steered", "model.answered", "call.waiting"]

    async def test_a_failed_child_is_data(self, studio: Studio) -> None:
        run = await studio.run(
            '[[delegate: {"agent": "researcher", "task": "[[error: 400]]"},'
            ' {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: Partly.]]',
            agent="orchestrator",
        )
        assert run.output == "Partly."
        (call,) = await calls_of(run)
        assert "researcher: (failed:" in (call.result or "")
        assert "writer: Prose." in (call.result or "")

    async def test_a_sub_agent_cannot_delegate(self, studio: Studio) -> None:
        run = await studio.run(
            '[[delegate: {"agent": "writer", "task": "[[delegate: {\\"agent\\": \\"writer\\",'
            ' \\"task\\": \\"x\\"}]] [[text: Alone.]]"}]] [[text: Done.]]',
            agent="orchestrator",
        )
        child = await orm.run_in_thread(lambda: run.children.get())
        assert child.output == "Alone."
        assert await orm.run_in_thread(lambda: not child.children.exists())
        (call,) = await calls_of(child)
        assert call.status == "invalid"

    async def test_a_sub_agent_with_a_team_is_told_that_it_works_without_it(
        self, studio: Studio, agent: Create
    ) -> None:
        def team() -> None:
            lead, plain, boss = agent("lead"), agent("plain"), agent("boss")
            lead.team.add(plain)
            boss.team.add(lead, plain)
            publish_agent(lead)
            publish_agent(boss)

        await orm.run_in_thread(team)
        both = [{"agent": name, "task": "[[text: Alone.]]"} for name in ("lead", "plain")]
        text = f"[[delegate: {json.dumps(both)[1:-1]}]] [[text: Done.]]"
        run = await studio.run(text, agent="boss")
        lead, plain = await orm.run_in_thread(lambda: list(run.children.order_by("agent")))
        told = await orm.run_in_thread(lambda: describe_turn(lead, 1).request)
        assert told.system.endswith(f"\n\n{SUB_AGENT_NOTE}")
        has = [tool.name for tool in told.tools]
        blackboard = ["blackboard_list", "blackboard_read", "blackboard_write"]
        assert (lead.output, has) == ("Alone.", blackboard), "and no tool that delegates"
        assert lead.input_tokens > plain.input_tokens, "the note was sent to the model"

    async def test_an_unknown_member_is_answered(self, studio: Studio) -> None:
        run = await studio.run(
            '[[delegate: {"agent": "plumber", "task": "x"}]] [[text: Alone then.]]',
            agent="orchestrator",
        )
        assert run.output == "Alone then."
        (call,) = await calls_of(run)
        assert call.status == "invalid"
        assert "researcher" in (call.result or "")

    async def test_a_member_that_was_stopped_is_answered(self, studio: Studio) -> None:
        def stop() -> None:
            writer = Agent.objects.get(workspace=studio.workspace, name="writer")
            set_agent_state(writer, "stop")

        await orm.run_in_thread(stop)
        run = await studio.run(
            '[[delegate: {"agent": "writer", "task": "x"}]] [[text: Alone then.]]',
            agent="orchestrator",
        )
        assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Alone then.")
        (call,) = await calls_of(run)
        assert call.status == "refused"
        assert "writer is gone or stopped" in (call.result or "")
        assert await orm.run_in_thread(lambda: not run.children.exists())

    async def test_children_that_are_too_slow_are_cancelled(
        self, studio: Studio, agent: Create
    ) -> None:
        def orchestrator() -> None:
            boss = agent("boss", delegation_timeout_seconds=1)
            boss.team.set(Agent.objects.filter(workspace=boss.workspace, name="writer"))
            from agents.actions.publish_agent import publish_agent  # noqa: PLC0415

            publish_agent(boss)

        await orm.run_in_thread(orchestrator)
        run = await studio.run(
            '[[delegate: {"agent": "writer", "task": "[[hang: headers]]"}]] [[text: Without.]]',
            agent="boss",
        )
        assert run.output == "Without."
        child = await orm.run_in_thread(lambda: run.children.get())
        child = await wait_for_end(child.pk, studio.host.window)
        assert child.status == RunStatus.CANCELLED


class TestModelFaults:
    @pytest.mark.parametrize(
        "directive", ["[[error: 400]]", "[[error: 429]]", "[[event: overloaded_error]]"]
    )
    async def test_they_end_the_run_in_one_sentence(
        self, studio: Studio, agent: Create, directive: str
    ) -> None:
        await orm.run_in_thread(agent)
        run = await studio.run(directive)
        assert run.status == RunStatus.FAILED
        assert run.error is not None
        assert run.error["kind"] == "model"
        assert "\n" not in run.error["message"]

    async def test_a_missing_key_names_its_variable(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(agent)
        run = await studio.run("Hello.", model="anthropic:claude")
        assert run.error is not None
        assert run.error["kind"] == "definition"
        assert "ANTHROPIC_API_KEY" in run.error["message"]


class TestCancelling:
    @pytest.mark.paced
    async def test_a_silent_model_is_left_at_once(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(agent)
        run_id = await studio.start("[[text: Never.]] [[hang: headers]]")
        await until_running(run_id)
        began = asyncio.get_running_loop().time()
        await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="enough"))
        run = await wait_for_end(run_id, studio.host.window)
        took = asyncio.get_running_loop().time() - began
        assert run.status == RunStatus.CANCELLED
        last: Any = (await studio.events(run))[-1]
        assert (last.type, last.payload["reason"]) == ("run.cancelled", "enough")
        in_time(took, 1)

    async def test_it_reaches_the_children_and_voids_the_waits(self, studio: Studio) -> None:
        run_id = await studio.start(
            '[[delegate: {"agent": "writer", "task": "[[hang: headers]]"}]]', agent="orchestrator"
        )
        await until(lambda: Run.objects.filter(parent_id=run_id, status="running").exists())
        await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="enough"))
        child_id = await orm.run_in_thread(lambda: Run.objects.get(parent_id=run_id).pk)
        assert (await wait_for_end(child_id, studio.host.window)).status == RunStatus.CANCELLED
        assert (await wait_for_end(run_id, studio.host.window)).status == RunStatus.CANCELLED
        wait = await orm.run_in_thread(lambda: Wait.objects.get(run_id=run_id))
        assert wait.value == {"status": "void"}


def overlap(runs: list[Run]) -> bool:
    """Whether there was a moment at which all of them worked."""
    begins = [run.started_at for run in runs if run.started_at]
    ends = [run.finished_at for run in runs if run.finished_at]
    return len(begins) == len(ends) == len(runs) and max(begins) < min(ends)


async def until_running(run_id: UUID) -> None:
    await until(lambda: Run.objects.filter(pk=run_id, status="running").exists())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not await orm.run_in_thread(condition):
            await asyncio.sleep(0.02)
