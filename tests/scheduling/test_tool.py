"""Agents plan their own work, within limits."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.admit import create_deliveries
from agents.actions.run_request import start_conversation
from agents.choices import Placement, RunStatus
from agents.delivery.targets import EmailTarget
from agents.live.follow import wait_for_end
from agents.models import Agent, Delivery, ToolCall
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM, Actor, record
from heartbit_site.base.models import Workspace
from scheduling import agent_tools
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.actions.save_schedule import CREATED, save_schedule
from scheduling.choices import TaskType
from scheduling.models import Schedule
from scheduling.querysets import database_now
from tests.starts import post_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from agents.models import Conversation, Run
    from tests.runtime.conftest import Studio

TOOLS = ("schedule", "list_schedules", "cancel_schedule")


@pytest.fixture
async def planner(studio: Studio, agent: Callable[..., Agent]) -> Agent:
    return await orm.run_in_thread(lambda: agent("planner", tools=TOOLS))


def calls(*asked: tuple[str, dict[str, object]]) -> str:
    """A task that has the model call these, one turn after the other."""
    texts = [f"{name} {json.dumps(given)}]]" for name, given in asked]
    return "[[calls: " + " [[then: ".join(texts)


async def results(run: Run) -> list[str]:
    rows = ToolCall.objects.filter(run=run).order_by("call_id")
    return await orm.run_in_thread(lambda: [call.result or "" for call in rows])


def plans(studio: Studio) -> list[Schedule]:
    return list(Schedule.objects.filter(workspace=studio.workspace).order_by("pk"))


async def say(
    studio: Studio, thread: Conversation, *asked: tuple[str, dict[str, object]], reply: str = ""
) -> Run:
    """Post a message that has the agent call these; the answer is mailed as that to a channel's.

    It is mailed to the team too, and a plan must not take over that target.
    """

    def post() -> UUID:
        text = f"{calls(*asked)} [[text: Done.]]"
        run = post_message(thread, text, model="openai:fake", home=Placement.LOCAL).run_id
        targets = [answer_to(reply), EmailTarget(to=["team@example.org"])] if reply else []
        create_deliveries(run, studio.workspace, targets)
        return run

    run_id = await orm.run_in_thread(post)
    studio.host.execute(run_id)
    return await wait_for_end(run_id, studio.host.window)


def answer_to(address: str) -> EmailTarget:
    return EmailTarget(
        to=[address],
        subject="Re: Hello",
        attach=False,
        external=True,
        in_reply_to="<1@example.org>",
        references=["<0@example.org>", "<1@example.org>"],
    )


async def begun(studio: Studio) -> Conversation:
    return await orm.run_in_thread(lambda: start_conversation(studio.workspace, agent="planner"))


async def test_remind_me_in_three_days(studio: Studio, planner: Agent) -> None:
    three_days = 3 * 24 * 3600
    thread = await begun(studio)
    asked = {"name": "Call Ann", "task": "Remind them to call Ann.", "in_seconds": three_days}
    run = await say(studio, thread, ("schedule", asked))
    assert run.status == RunStatus.SUCCEEDED
    [plan] = await orm.run_in_thread(lambda: plans(studio))
    assert (plan.name, plan.task_type) == ("planner: Call Ann", TaskType.MESSAGE)
    assert plan.conversation_id == thread.pk, "it comes up where it was asked for"
    assert plan.created_by_run_id == run.pk
    now = await orm.run_in_thread(database_now)
    assert plan.next_occurrence is not None
    assert abs(plan.next_occurrence - now - timedelta(days=3)) < timedelta(minutes=1)


async def test_it_lists_and_cancels_its_own(studio: Studio, planner: Agent) -> None:
    task = calls(
        ("schedule", {"name": "Weekly", "task": "Report.", "cron": "0 9 * * MON"}),
        ("schedule", {"name": "Soon", "task": "Report.", "in_seconds": 60}),
        ("list_schedules", {}),
        ("cancel_schedule", {"name": "Weekly"}),
        ("cancel_schedule", {"name": "Weekly"}),
    )
    run = await studio.run(f"{task} [[text: Done.]]", agent="planner")
    planned, _, listed, cancelled, again = await results(run)
    assert "Planned 'planner: Weekly'" in planned
    assert all("Next: " in one for one in (planned, listed))
    assert "09:00" in listed
    assert cancelled == "Cancelled 'planner: Weekly'."
    assert "You have planned no 'Weekly'" in again
    [left] = await orm.run_in_thread(lambda: plans(studio))
    assert left.name == "planner: Soon"


@pytest.mark.parametrize("changed", ["agent", "workspace", "created_by_run_id", "next_occurrence"])
async def test_only_what_the_agent_planned_there_and_is_to_come_is_its_own(
    studio: Studio, planner: Agent, agent: Callable[..., Agent], changed: str
) -> None:
    soon = ("schedule", {"name": "Soon", "task": "x", "in_seconds": 9000})
    await studio.run(f"{calls(soon)} [[text: Done.]]", agent="planner")

    def change() -> None:
        values: dict[str, Any] = {changed: None}
        if changed == "agent":
            values["agent"] = agent("other", tools=TOOLS)
        elif changed == "workspace":
            elsewhere = Workspace.objects.create(slug=f"t-{secrets.token_hex(4)}", name="Elsewhere")
            values["workspace"] = elsewhere
        elif changed == "next_occurrence":
            values["next_at"] = None
        Schedule.objects.filter(workspace=studio.workspace).update(**values)

    await orm.run_in_thread(change)
    asked = calls(("list_schedules", {}), ("cancel_schedule", {"name": "Soon"}))
    run = await studio.run(f"{asked} [[text: Done.]]", agent="planner")
    listed, refused = await results(run)
    assert listed == "[]"
    assert "you have planned nothing" in refused


async def test_a_reminder_goes_back_where_it_was_asked_for(studio: Studio, planner: Agent) -> None:
    asked: tuple[str, dict[str, object]]
    asked = ("schedule", {"name": "Call", "task": "x", "in_seconds": 600})
    await say(studio, await begun(studio), ("list_schedules", {}), reply="bob@example.org")
    await say(studio, await begun(studio), asked, reply="ada@example.org")

    def fire() -> Any:
        [plan] = plans(studio)
        run = run_schedule_now(plan, by=SYSTEM)
        return Delivery.objects.get(run_id=run).target

    assert await orm.run_in_thread(fire) == answer_to("ada@example.org").model_dump()


async def test_what_was_planned_in_a_conversation_is_seen_and_cancelled_there_alone(
    studio: Studio, planner: Agent
) -> None:
    ann, mallory = await begun(studio), await begun(studio)
    await say(studio, ann, ("schedule", {"name": "Lawyer", "task": "x", "in_seconds": 9000}))
    curious: tuple[tuple[str, dict[str, object]], ...] = (
        ("list_schedules", {}),
        ("cancel_schedule", {"name": "Lawyer"}),
    )
    nothing = "ScheduleError: You have planned no 'Lawyer'; you have planned nothing."
    elsewhere = await results(await say(studio, mallory, *curious))
    assert elsewhere == ["[]", nothing]
    alone = await studio.run(f"{calls(*curious)} [[text: Done.]]", agent="planner")
    assert await results(alone) == ["[]", nothing]
    listed, cancelled = await results(await say(studio, ann, *curious))
    assert "Lawyer" in listed
    assert "Cancelled" in cancelled


async def test_what_cannot_be_planned_is_answered(studio: Studio, planner: Agent) -> None:
    there = {"time_zone": "Europe/Berlin"}
    task = calls(
        ("schedule", {"name": "a", "task": "x"}),
        ("schedule", {"name": "b", "task": "x", "cron": "0 9 * * MON", "in_seconds": 60}),
        ("schedule", {"name": "c", "task": "x", "at": "2020-01-01T09:00"}),
        ("schedule", {"name": "c", "task": "x", "at": "tomorrow"}),
        ("schedule", {"name": "d", "task": "x", "every_seconds": 5}),
        ("schedule", {"name": "e", "task": "x", "cron": "nine o'clock"}),
        ("schedule", {"name": "f", "task": "x", "at": "2027-03-28T02:30", **there}),
    )
    run = await studio.run(f"{task} [[text: Done.]]", agent="planner")
    said = list(await results(run))
    assert "exactly one of" in said[0]
    assert "exactly one of" in said[1]
    assert "is in the past" in said[2]
    assert "is not a time" in said[3]
    assert "every_seconds" in said[4]
    assert "has 2 fields" in said[5]
    assert "the clocks skip it" in said[6]
    assert run.status == RunStatus.SUCCEEDED
    assert await orm.run_in_thread(lambda: plans(studio)) == []


async def test_an_agent_that_plans_without_end_is_stopped(
    studio: Studio, planner: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_tools, "MOST_ACTIVE", 2)
    asked = [
        ("schedule", {"name": str(number), "task": "x", "in_seconds": 60}) for number in range(3)
    ]
    run = await studio.run(f"{calls(*asked)} [[text: Done.]]", agent="planner")
    *_, last = await results(run)
    assert "which is the limit" in last
    assert len(await orm.run_in_thread(lambda: plans(studio))) == 2


async def test_cron_expressions_leave_as_much_between_two_as_intervals(
    studio: Studio, planner: Agent
) -> None:
    often = ("* * * * *", "0,4 9 * * MON", "0,58 * 1 * *", "*/2 9 29 2 *")
    seldom = ("*/5 * * * *", "0,50 2-3 * * *", "0 0 29 2 *")
    zone = {"time_zone": "Europe/Berlin"}
    asked: list[tuple[str, dict[str, object]]] = [
        ("schedule", {"name": cron, "task": "x", "cron": cron, **zone}) for cron in often + seldom
    ]
    run = await studio.run(f"{calls(*asked)} [[text: Done.]]", agent="planner")
    said = await results(run)
    assert ["too often" in one for one in said] == [True] * len(often) + [False] * len(seldom)
    assert len(await orm.run_in_thread(lambda: plans(studio))) == len(seldom)


async def test_what_was_cancelled_counts_among_a_days(
    studio: Studio,
    planner: Agent,
    agent: Callable[..., Agent],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_tools, "MOST_A_DAY", 2)
    await orm.run_in_thread(lambda: agent("other", tools=TOOLS))
    aside = calls(("schedule", {"name": "aside", "task": "x", "in_seconds": 60}))
    await studio.run(f"{aside} [[text: Done.]]", agent="other")  # counts for the other agent
    namesake = Actor("agent planner", "api")  # a key may have that name
    await orm.run_in_thread(
        lambda: record(namesake, CREATED, workspace=studio.workspace, target="schedule")
    )
    asked: list[tuple[str, dict[str, object]]] = []
    for number in range(3):
        asked += [
            ("schedule", {"name": f"n{number}", "task": "x", "in_seconds": 60}),
            ("cancel_schedule", {"name": f"n{number}"}),
        ]
    run = await studio.run(f"{calls(*asked)} [[text: Done.]]", agent="planner")
    said = await results(run)
    assert "2 tasks within a day, which is the limit" in said[4]
    assert "Cancelled" in said[3]


async def test_runs_side_by_side_do_not_plan_more_than_the_most(
    studio: Studio, planner: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(schedule: Schedule, *, by: Actor) -> None:
        time.sleep(0.5)  # the other one counts meanwhile
        save_schedule(schedule, by=by)

    monkeypatch.setattr(agent_tools, "save_schedule", save)
    monkeypatch.setattr(agent_tools, "MOST_ACTIVE", 1)
    tasks = [
        calls(("schedule", {"name": name, "task": "x", "in_seconds": 600})) for name in ("a", "b")
    ]
    await asyncio.gather(
        *(studio.run(f"{task} [[text: Done.]]", agent="planner") for task in tasks)
    )
    assert len(await orm.run_in_thread(lambda: plans(studio))) == 1
