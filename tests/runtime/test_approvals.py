"""Tool calls that wait for a person: what was shown is what runs, and one decision wins."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections

from agents.actions.decide_call import Always, approve_call, deny_call, edit_call
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.choices import RunStatus
from agents.definitions.definition import AgentDefinition, BoundTool
from agents.errors import CallClosedError, InvalidEditError
from agents.live.follow import wait_for_end
from agents.models import Agent, Decision, Grant, Run, ToolBinding
from agents.runtime.toolset.approval_policy import approval_policy
from agents.runtime.toolset.offer import OfferedTools
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.jsonschema import fits
from heartbit_site.base.models import AuditEntry
from heartbit_site.base.toolspec import Effect, spec_of
from tests.runtime.deciding import ANNA, waiting
from tools.calls.approval import digest
from tools.calls.pipeline import RequireApproval
from tools.definitions.registry import definition_hash, registry

if TYPE_CHECKING:
    from uuid import UUID

    from agents.models import ToolCall
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
TWO = '[[calls: calculate {"expression": "1+1"}, calculate {"expression": "2+2"}]] [[text: Done.]]'


@pytest.fixture
def careful(agent: Create) -> Callable[[], Agent]:
    """An agent that asks before every call."""
    return lambda: agent(tools=("calculate", "current_time"), approval="always")


async def results(run: Run) -> list[tuple[str, str]]:
    return await orm.run_in_thread(
        lambda: [(call.status, call.result or "") for call in run.calls.order_by("id")]
    )


async def test_an_approved_call_runs_as_it_was_shown(
    studio: Studio, careful: Callable[[], Agent]
) -> None:
    await orm.run_in_thread(careful)
    run_id = await studio.start(SUM)
    [call] = await waiting(studio, run_id)
    assert call.approval_view == {
        "tool": "calculate",
        "arguments": {"expression": "6*7"},
        "reason": "solo asks before it uses calculate.",
    }
    assert call.run.status == RunStatus.WAITING
    assert call.run.worker_id is None, "it holds no worker"
    await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")
    assert await results(run) == [("ok", "42")]
    decision = await orm.run_in_thread(lambda: run.decisions.get())
    assert (decision.verdict, decision.decided_by, decision.via) == (
        "approved",
        "anna",
        "terminal",
    )
    assert decision.digest == decision.executed_digest == call.digest


async def test_mended_arguments_are_shown_approved_and_run(
    studio: Studio, careful: Callable[[], Agent]
) -> None:
    await orm.run_in_thread(careful)
    run_id = await studio.start('[[calls: current_time {"time_zone": null}]] [[text: Done.]]')
    [call] = await waiting(studio, run_id)
    assert (call.approval_view or {})["arguments"] == {"time_zone": "UTC"}
    await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))
    run = await wait_for_end(run_id, studio.host.window)
    [(status, result)] = await results(run)
    assert (status, result.endswith("time zone UTC)")) == ("ok", True)
    decision = await orm.run_in_thread(lambda: run.decisions.get())
    assert decision.digest == decision.executed_digest == call.digest


async def test_an_edited_call_runs_as_it_was_edited(
    studio: Studio, careful: Callable[[], Agent]
) -> None:
    await orm.run_in_thread(careful)
    run_id = await studio.start(SUM)
    [call] = await waiting(studio, run_id)
    edited = '{"expression": "6*8"}'
    await orm.run_in_thread(lambda: edit_call(call, digest=call.digest, by=ANNA, arguments=edited))
    run = await wait_for_end(run_id, studio.host.window)
    assert await results(run) == [("ok", "48")]
    decision = await orm.run_in_thread(lambda: run.decisions.get())
    assert decision.verdict == "edited"
    assert decision.executed_digest != decision.digest == call.digest


async def test_an_edit_that_does_not_fit_decides_nothing(
    studio: Studio, careful: Callable[[], Agent]
) -> None:
    await orm.run_in_thread(careful)
    run_id = await studio.start(SUM)
    [call] = await waiting(studio, run_id)
    for arguments in ('{"expression": 7}', '{"formula": "1"}', "not json", "[]"):
        edit = partial(edit_call, call, digest=call.digest, by=ANNA, arguments=arguments)
        with pytest.raises(InvalidEditError, match="calculate"):
            await orm.run_in_thread(edit)
    assert not await orm.run_in_thread(lambda: Decision.objects.filter(run_id=run_id).exists())
    await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))
    assert await results(await wait_for_end(run_id, studio.host.window)) == [("ok", "42")]


async def test_a_denied_call_is_answered_with_the_reason(
    studio: Studio, careful: Callable[[], Agent]
) -> None:
    await orm.run_in_thread(careful)
    run_id = await studio.start(SUM)
    [call] = await waiting(studio, run_id)
    await orm.run_in_thread(
        lambda: deny_call(call, digest=call.digest, by=ANNA, reason="Too risky")
    )
    run = await wait_for_end(run_id, studio.host.window)
    [(status, result)] = await results(run)
    assert status == "refused"
    assert "Too risky" in result
    assert run.output == "Done.", "the model goes on without it"
    [event] = [one for one in await studio.events(run) if one.type == "tool.finished"]
    assert event.payload["effect"] == "pure", "as the person was shown"


async def test_each_call_of_a_turn_is_decided_by_itself(
    studio: Studio, careful: Callable[[], Agent]
) -> None:
    await orm.run_in_thread(careful)
    run_id = await studio.start(TWO)
    first, second = await waiting(studio, run_id, 2)
    await orm.run_in_thread(lambda: approve_call(first, digest=first.digest, by=ANNA))
    run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
    assert run.status == RunStatus.WAITING, "the other one is open"
    await orm.run_in_thread(lambda: deny_call(second, digest=second.digest, by=ANNA, reason="no"))
    statuses = [
        status for status, _ in await results(await wait_for_end(run_id, studio.host.window))
    ]
    assert statuses == ["ok", "refused"]


class TestWhoIsAsked:
    async def test_a_run_may_ask_for_everything(self, studio: Studio, agent: Create) -> None:
        await orm.run_in_thread(lambda: agent(tools=("calculate",)))
        run_id = await studio.start(SUM, approve=True)
        [call] = await waiting(studio, run_id)
        await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))
        run = await wait_for_end(run_id, studio.host.window)
        assert run.output == "Done."

    async def test_sub_agents_of_such_a_run_ask_too(self, studio: Studio, agent: Create) -> None:
        def team() -> None:
            writer = agent("helper", tools=("calculate",))
            boss = agent("boss")
            boss.team.set([writer])
            publish_agent(boss)

        await orm.run_in_thread(team)
        task = {"agent": "helper", "task": SUM}
        run_id = await studio.start(
            f"[[delegate: {json.dumps(task)}]] [[text: Led.]]", agent="boss", approve=True
        )
        [delegation] = await waiting(studio, run_id)
        assert delegation.approval_view is not None
        assert delegation.approval_view["tool"] == "delegate_task"
        await orm.run_in_thread(lambda: approve_call(delegation, digest=delegation.digest, by=ANNA))
        child = await child_of(run_id)
        [call] = await waiting_in(studio, child)
        await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))
        assert (await wait_for_end(run_id, studio.host.window)).output == "Led."

    @pytest.mark.parametrize(("expression", "asked"), [("1+1", False), ("9*9", True)])
    async def test_a_rule_looks_at_the_arguments(
        self, studio: Studio, agent: Create, expression: str, *, asked: bool
    ) -> None:
        def bound() -> None:
            row = agent()
            ToolBinding.objects.create(
                agent=row,
                tool="calculate",
                approval="when",
                approval_when={"properties": {"expression": {"pattern": r"\*"}}},
            )
            publish_agent(row)

        await orm.run_in_thread(bound)
        run_id = await studio.start(
            f'[[calls: calculate {{"expression": "{expression}"}}]] [[text: Done.]]'
        )
        if asked:
            [call] = await waiting(studio, run_id)
            await orm.run_in_thread(
                lambda: deny_call(call, digest=call.digest, by=ANNA, reason="-")
            )
        run = await wait_for_end(run_id, studio.host.window)
        [(status, _)] = await results(run)
        assert status == ("refused" if asked else "ok")

    @pytest.mark.parametrize("arguments", [{}, {"time_zone": "UTC"}])
    async def test_a_rule_and_a_person_see_what_the_function_takes_by_itself(
        self, studio: Studio, agent: Create, arguments: dict[str, str]
    ) -> None:
        def bound() -> None:
            row = agent()
            rule = {"properties": {"time_zone": {"const": "UTC"}}, "required": ["time_zone"]}
            ToolBinding.objects.create(
                agent=row, tool="current_time", approval="when", approval_when=rule
            )
            publish_agent(row)

        await orm.run_in_thread(bound)
        script = f"[[calls: current_time {json.dumps(arguments)}]] [[text: Done.]]"
        run_id = await studio.start(script)
        [call] = await waiting(studio, run_id)
        assert call.approval_view is not None
        assert call.approval_view["arguments"] == {"time_zone": "UTC"}
        assert call.digest == digest(
            call.run_id,
            call.call_id,
            definition_hash=definition_hash(registry["current_time"]),
            arguments={"time_zone": "UTC"},
        )
        await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))
        run = await wait_for_end(run_id, studio.host.window)
        [(status, result)] = await results(run)
        assert (status, "time zone UTC" in result) == ("ok", True)

    @pytest.mark.parametrize(("depth", "asked"), [(1, False), (60, True)])
    def test_a_rule_that_cannot_be_judged_asks(self, depth: int, *, asked: bool) -> None:
        def save(value: dict[str, Any]) -> str:
            return str(value)

        inner = {"$ref": "#/$defs/any"}
        branches = [{"properties": {"a": inner}}, {"additionalProperties": inner}, {"items": inner}]
        never = {"required": ["nothing of the kind"]}
        rule = {"allOf": [never, inner], "$defs": {"any": {"anyOf": branches}}}
        deep: dict[str, Any] = {}
        for _ in range(depth):
            deep = {"a": deep}
        assert fits(rule, {"value": deep}) is (None if asked else False)
        spec = spec_of(save, description="Save it.", effect=Effect.PURE)
        definition = AgentDefinition(
            version_id=1,
            agent_id=1,
            name="solo",
            system_prompt="p",
            model="",
            temperature=None,
            tools=(BoundTool(name="save", pinned="", approval="when", approval_when=rule),),
            team=(),
            max_turns=3,
            max_tokens=100,
            timeout_seconds=60,
            tool_timeout_seconds=5,
            max_tool_output_bytes=1_000,
            max_parallel=1,
            delegation_timeout_seconds=5,
        )
        offer = OfferedTools({"save": spec}, {"save": definition_hash(spec)})
        answer = approval_policy(definition, offer, approve=False)(spec, {"value": deep})
        assert answer == (
            RequireApproval("solo asks before it uses save like this.") if asked else None
        )

    async def test_pure_tools_are_not_asked_for_when_effects_are(
        self, studio: Studio, agent: Create
    ) -> None:
        tools = ("calculate", "recall", "blackboard_write")
        await orm.run_in_thread(lambda: agent(tools=tools, approval="effects"))
        run_id = await studio.start(
            '[[calls: calculate {"expression": "1"}, recall {"query": "tea"}, '
            'blackboard_write {"key": "a", "value": "b"}]] [[text: Done.]]'
        )
        [call] = await waiting(studio, run_id)
        assert call.tool == "blackboard_write"
        await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))
        run = await wait_for_end(run_id, studio.host.window)
        assert [status for status, _ in await results(run)] == ["ok", "ok", "ok"]


class TestAlwaysAllow:
    @pytest.mark.parametrize("scope", ["run", "agent"])
    async def test_what_else_waits_for_it_goes_on_too(
        self, studio: Studio, careful: Callable[[], Agent], scope: str
    ) -> None:
        await orm.run_in_thread(careful)
        run_id = await studio.start(TWO.replace("[[text", "[[then: calculate {}]] [[text", 1))
        first, _ = await waiting(studio, run_id, 2)
        always = Always("run") if scope == "run" else Always("agent")
        await orm.run_in_thread(
            lambda: approve_call(first, digest=first.digest, by=ANNA, always=always)
        )
        run = await wait_for_end(run_id, studio.host.window)
        assert run.output == "Done."
        decided = await orm.run_in_thread(
            lambda: list(run.decisions.order_by("call_id").values_list("decided_by", "via"))
        )
        assert decided == [("anna", "terminal"), ("anna", "grant")]

        def grants() -> tuple[set[int | None], set[int | None]]:
            entries = AuditEntry.objects.filter(target=f"run:{run.pk}", action="approval.approve")
            return (
                set(run.decisions.values_list("grant", flat=True)),
                {entry.details.get("grant") for entry in entries},
            )

        stored, audited = await orm.run_in_thread(grants)
        assert stored == audited != {None}, "by what permission"
        again = await studio.start(SUM)
        if scope == "agent":
            run = await wait_for_end(again, studio.host.window)
            assert await results(run) == [("ok", "42")]
            finished = [e for e in await studio.events(run) if e.type == "tool.finished"]
            assert finished[0].payload["grant"] is not None, "by what right it ran"
        else:
            assert await waiting(studio, again), "it was for that run alone"
            await orm.run_in_thread(lambda: cancel_run(studio.workspace, again, reason="over"))

    async def test_another_tools_call_waits_all_the_same(
        self, studio: Studio, agent: Create
    ) -> None:
        tools = ("calculate", "recall", "blackboard_write")
        await orm.run_in_thread(lambda: agent(tools=tools, approval="always"))
        run_id = await studio.start(
            '[[calls: calculate {"expression": "1"}, blackboard_write {"key": "a", "value": "b"}]]'
        )
        calls = {call.tool: call for call in await waiting(studio, run_id, 2)}
        sum_ = calls["calculate"]
        await orm.run_in_thread(
            lambda: approve_call(sum_, digest=sum_.digest, by=ANNA, always=Always("agent"))
        )
        decided = await orm.run_in_thread(
            lambda: [*Decision.objects.filter(run=run_id).values_list("call_id", flat=True)]
        )
        assert decided == [sum_.call_id]
        await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="over"))

    @pytest.mark.parametrize("end", ["expired", "revoked", "changed"])
    async def test_a_permission_ends(
        self, studio: Studio, careful: Callable[[], Agent], end: str
    ) -> None:
        row = await orm.run_in_thread(careful)
        run_id = await studio.start(SUM)
        [call] = await waiting(studio, run_id)
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        await orm.run_in_thread(
            lambda: approve_call(
                call, digest=call.digest, by=ANNA, always=Always("agent", tomorrow)
            )
        )
        await wait_for_end(run_id, studio.host.window)
        changes: dict[str, dict[str, object]] = {
            "expired": {"expires_at": datetime.now(UTC) - timedelta(seconds=1)},
            "revoked": {"revoked_at": datetime.now(UTC)},
            "changed": {"definition_hash": "0" * 64},
        }
        await orm.run_in_thread(lambda: Grant.objects.filter(agent=row).update(**changes[end]))
        again = await studio.start(SUM)
        assert await waiting(studio, again)
        await orm.run_in_thread(lambda: cancel_run(studio.workspace, again, reason="over"))

    async def test_who_wants_to_be_asked_is_asked_all_the_same(
        self, studio: Studio, careful: Callable[[], Agent]
    ) -> None:
        await orm.run_in_thread(careful)
        run_id = await studio.start(SUM)
        [call] = await waiting(studio, run_id)
        await orm.run_in_thread(
            lambda: approve_call(call, digest=call.digest, by=ANNA, always=Always("agent"))
        )
        await wait_for_end(run_id, studio.host.window)
        again = await studio.start(SUM, approve=True)
        assert await waiting(studio, again)
        await orm.run_in_thread(lambda: cancel_run(studio.workspace, again, reason="over"))


class TestOneDecisionWins:
    async def test_of_many_at_once_one_is_taken_and_the_others_are_told_whose(
        self, studio: Studio, careful: Callable[[], Agent]
    ) -> None:
        await orm.run_in_thread(careful)
        run_id = await studio.start(SUM)
        [call] = await waiting(studio, run_id)

        def decide(number: int) -> str:
            by = Actor(f"person {number}", "api")
            try:
                if number % 2:
                    deny_call(call, digest=call.digest, by=by, reason="no")
                else:
                    approve_call(call, digest=call.digest, by=by)
            except CallClosedError as error:
                return str(error)
            finally:
                connections.close_all()
            return by.name

        told = await asyncio.gather(*(asyncio.to_thread(decide, n) for n in range(8)))
        run = await wait_for_end(run_id, studio.host.window)
        decision = await orm.run_in_thread(lambda: run.decisions.get())
        assert told.count(decision.decided_by) == 1
        others = [sentence for sentence in told if sentence != decision.decided_by]
        assert set(others) == {f"The call was already {decision.verdict} by {decision.decided_by}."}

    async def test_a_cancelled_run_takes_no_decision(
        self, studio: Studio, careful: Callable[[], Agent]
    ) -> None:
        await orm.run_in_thread(careful)
        run_id = await studio.start(SUM)
        [call] = await waiting(studio, run_id)
        await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="enough"))
        with pytest.raises(CallClosedError, match="has cancelled meanwhile"):
            await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=ANNA))

    async def test_what_is_not_what_was_shown_is_not_approved(
        self, studio: Studio, careful: Callable[[], Agent]
    ) -> None:
        await orm.run_in_thread(careful)
        run_id = await studio.start(SUM)
        [call] = await waiting(studio, run_id)
        with pytest.raises(CallClosedError, match="was shown"):
            await orm.run_in_thread(lambda: approve_call(call, digest="0" * 64, by=ANNA))
        await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="over"))


async def child_of(run_id: UUID) -> Run:
    def look() -> Run:
        return Run.objects.get(parent_id=run_id)

    while True:  # its creation is the next thing that happens; the test's own limit ends a wait
        try:
            return await orm.run_in_thread(look)
        except Run.DoesNotExist:
            await asyncio.sleep(0.02)


async def waiting_in(studio: Studio, child: Run) -> list[ToolCall]:
    calls = await waiting(studio, child.root_id, 2)
    return [call for call in calls if call.run_id == child.pk]
