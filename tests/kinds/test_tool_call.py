"""A run that is one tool call: the pipeline of every call, and no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.decide_call import deny_call, edit_call
from agents.actions.fork_run import Edits
from agents.actions.publish_agent import publish_agent
from agents.actions.quotas import save_budget
from agents.actions.runs import cancel_run, retry_run, steer_run
from agents.choices import Placement, RunStatus
from agents.errors import InvalidEditError, RunStateError
from agents.journal.events import ApprovalRequested, decode
from agents.live.agent_view import ToolCallView
from agents.live.follow import wait_for_end
from agents.live.words import say
from agents.loop.history import TurnNotFoundError
from agents.models import Budget, Run
from agents.reads.outcome import metrics_of
from agents.runs.history import load_history
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import UsageEntry
from tests.runtime.deciding import ANNA, happened, waiting
from tests.starts import fork_run, start_tool_call

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from agents.models import Agent
    from tests.runtime.conftest import Studio

    Create = Callable[..., Agent]

ADA = Actor("ada", "web")
SUM = {"expression": "6*7"}


async def start(
    studio: Studio, tool: str = "calculate", arguments: dict[str, Any] | None = None
) -> UUID:
    run_id = await orm.run_in_thread(
        lambda: start_tool_call(
            studio.workspace,
            tool,
            SUM if arguments is None else arguments,
            agent="solo",
            home=Placement.LOCAL,
        )
    )
    studio.host.execute(run_id)
    return run_id


async def ended(studio: Studio, run_id: UUID) -> Run:
    return await wait_for_end(run_id, studio.host.window)


async def called(
    studio: Studio, tool: str = "calculate", arguments: dict[str, Any] | None = None
) -> Run:
    return await ended(studio, await start(studio, tool, arguments))


async def calls(run: Run) -> list[tuple[str, str, str | None]]:
    return await orm.run_in_thread(
        lambda: list(run.calls.values_list("call_id", "status", "result").order_by("id"))
    )


async def test_it_makes_the_call_and_its_result_is_the_answer(
    studio: Studio, agent: Create
) -> None:
    # One turn, a schema and a strong model are an agent's: none of them is asked for.
    await orm.run_in_thread(
        lambda: agent(
            tools=("calculate",),
            max_turns=1,
            response_schema={"type": "object"},
            model="anthropic:none",
        )
    )
    run = await called(studio)
    assert (run.kind, run.status, run.output) == ("tool_call", RunStatus.SUCCEEDED, "42")
    assert run.task == 'calculate {"expression": "6*7"}'
    assert await calls(run) == [("0.0", "ok", "42")]
    events = await studio.events(run)
    assert [event.type for event in events] == [
        *("run.created", "run.started", "tool.finished", "run.succeeded")
    ]
    assert events[0].payload["call"]["name"] == "calculate"


async def test_no_model_is_named_asked_or_paid(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), model="anthropic:none"))
    run = await called(studio)
    assert run.model == ""
    assert not await orm.run_in_thread(lambda: UsageEntry.objects.filter(run_id=run.pk).exists())
    metrics = await orm.run_in_thread(lambda: metrics_of(run))
    assert (metrics.model_calls, metrics.tool_calls, metrics.cost_usd) == (0, 1, "0")
    started = (await studio.events(run))[1]
    assert say(decode(started.type, started.payload), str).title == "started"


async def test_a_spent_budget_is_of_models_and_stops_no_tool_call(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    await orm.run_in_thread(
        lambda: save_budget(Budget(workspace=studio.workspace, period="day", max_tokens=1))
    )
    await studio.run("Spend it. [[text: A long answer to spend it.]]")
    assert (await studio.run("More.")).status == RunStatus.FAILED
    assert (await called(studio)).output == "42"


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "error"),
    [
        ("calculate", {"expression": "six"}, "error", "The tool calculate failed: "),
        ("calculate", {"formula": "6"}, "invalid", "The tool calculate failed: "),
        ("current_time", {}, "invalid", "The tool current_time failed: "),
    ],
)
async def test_a_call_that_fails_fails_the_run(
    studio: Studio,
    agent: Create,
    tool: str,
    arguments: dict[str, Any],
    status: str,
    error: str,
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    run = await called(studio, tool, arguments)
    assert (run.status, run.output) == (RunStatus.FAILED, None)
    assert run.error is not None
    assert run.error["kind"] == "tool"
    assert run.error["message"].startswith(error)
    assert [each[1] for each in await calls(run)] == [status]


async def test_a_transactional_tool_takes_effect_once(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("blackboard_write",)))
    run = await called(studio, "blackboard_write", {"key": "k", "value": "v"})
    assert run.status == RunStatus.SUCCEEDED
    assert await orm.run_in_thread(lambda: run.blackboard.count()) == 1


async def test_it_waits_for_a_person_who_may_edit_or_deny_it(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), approval="always"))
    edited, denied = await start(studio), await start(studio)
    [call] = await waiting(studio, edited)
    assert call.run.status == RunStatus.WAITING
    arguments = '{"expression": "6*8"}'
    await orm.run_in_thread(
        lambda: edit_call(call, digest=call.digest, by=ANNA, arguments=arguments)
    )
    assert (await ended(studio, edited)).output == "48"
    [other] = await waiting(studio, denied)
    await orm.run_in_thread(
        lambda: deny_call(other, digest=other.digest, by=ANNA, reason="too dear")
    )
    run = await ended(studio, denied)
    assert run.status == RunStatus.FAILED
    assert "The tool calculate failed: A person denied this call (too dear)." in str(run.error)


async def test_it_is_cancelled_while_it_waits(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), approval="always"))
    run_id = await start(studio)
    await happened(studio, run_id, ApprovalRequested)
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="enough"))
    run = await ended(studio, run_id)
    assert run.status == RunStatus.CANCELLED
    assert [each[1] for each in await calls(run)] == ["cancelled"]


async def test_it_delegates_when_that_is_its_tool(studio: Studio, agent: Create) -> None:
    def team() -> None:
        agent("novelist", model="openai:fake")
        boss = agent("solo")
        boss.team.set(type(boss).objects.filter(workspace=boss.workspace, name="novelist"))
        publish_agent(boss)

    await orm.run_in_thread(team)
    tasks = {"tasks": [{"agent": "novelist", "task": "[[text: Prose.]]"}]}
    run = await called(studio, "delegate_task", tasks)
    child = await orm.run_in_thread(lambda: run.children.get())
    assert (child.kind, child.model, child.output) == ("agent", "openai:fake", "Prose.")
    assert run.status == RunStatus.SUCCEEDED
    assert "Prose." in (run.output or "")


class TestAgain:
    async def test_a_retry_makes_the_call_again(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(lambda: agent(tools=("calculate",)))
        run = await called(studio)
        repeated = await orm.run_in_thread(lambda: retry_run(run, by=ADA, home=Placement.LOCAL))
        studio.host.execute(repeated)
        again = await ended(studio, repeated)
        assert (again.kind, again.output, again.task) == ("tool_call", "42", run.task)
        assert await calls(again) == [("0.0", "ok", "42")]
        types = [event.type for event in await studio.events(again)]
        assert types[:3] == ["run.created", "run.forked", "run.started"]

    async def test_a_fork_takes_other_arguments(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(lambda: agent(tools=("calculate",)))
        run = await called(studio)
        edits = Edits(call="0.0", arguments='{"expression": "6*8"}')
        forked = await orm.run_in_thread(
            lambda: fork_run(run, 0, edits=edits, home=Placement.LOCAL)
        )
        studio.host.execute(forked)
        fork = await ended(studio, forked)
        assert (fork.kind, fork.output) == ("tool_call", "48")
        assert fork.task == 'calculate {"expression": "6*8"}'

    @pytest.mark.parametrize(
        ("turn", "edits", "error", "words"),
        [
            (0, Edits(message="Hurry."), InvalidEditError, "kind is tool_call"),
            (0, Edits(task="Other."), InvalidEditError, "kind is tool_call"),
            (0, Edits(call="1.0", arguments="{}"), InvalidEditError, "kind is tool_call"),
            (0, Edits(call="0.0", result="43"), InvalidEditError, "kind is tool_call"),
            (0, Edits(call="0.0", arguments="{}"), InvalidEditError, "calculate"),
            (1, Edits(), TurnNotFoundError, "only an agent's run has turns"),
        ],
    )
    async def test_what_makes_no_sense_is_refused(
        self,
        studio: Studio,
        agent: Create,
        turn: int,
        edits: Edits,
        error: type[Exception],
        words: str,
    ) -> None:
        await orm.run_in_thread(lambda: agent(tools=("calculate",)))
        run = await called(studio)
        with pytest.raises(error, match=words):
            await orm.run_in_thread(lambda: fork_run(run, turn, edits=edits))

    async def test_nobody_can_tell_it_anything(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(lambda: agent(tools=("calculate",), approval="always"))
        run_id = await start(studio)
        await happened(studio, run_id, ApprovalRequested)
        run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
        with pytest.raises(RunStateError, match="only an agent's run can be steered"):
            await orm.run_in_thread(lambda: steer_run(run, "Hurry."))


async def test_its_view_has_the_call_without_a_turn(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",)))
    run = await called(studio)
    past = await orm.run_in_thread(lambda: load_history(run))
    view = ToolCallView(run.pk, None, run.agent, run.task)
    parts = [view.fold(recorded) or {} for recorded in past.journal]
    assert parts[0]["turn 0"]["calls"] == ["0.0"]
    assert parts[0]["call 0.0"]["tool"] == "calculate"
    whole = view.snapshot()
    assert (whole["run"]["kind"], whole["run"]["model"]) == ("tool_call", "")
    assert whole["call 0.0"]["result"] == "42"
    assert view.turn == 0
