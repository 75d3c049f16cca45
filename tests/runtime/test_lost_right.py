"""Who let a call run loses the right to before it does: it waits again, for somebody else."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import Group, User

from agents.actions.decide_call import Always, approve_call
from agents.actions.publish_agent import publish_agent
from agents.actions.waits import resolve_call
from agents.choices import CallResolution
from agents.journal.events import ApprovalLapsed, OutcomeRequested
from agents.live.follow import wait_for_end
from agents.models import Agent, Decision, Grant, Run, RunEvent, ToolBinding
from agents.querysets import uncertain_calls
from agents.runtime.execution.host import LocalHost
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Membership
from tests.chaos.processes import EffectsServer
from tests.chaos.records import read_effects
from tests.doubtful import in_doubt
from tests.runtime.conftest import Studio
from tests.runtime.deciding import happened, waiting
from tests.web.people import member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer


@dataclass
class Till:
    """A workspace whose cashier asks before it pays, and the service that is paid."""

    workspace: Workspace
    url: str
    ledger: Path

    @property
    def task(self) -> str:
        return (
            f'[[calls: http_request {{"method": "POST", "url": "{self.url}/pay"}}]] [[text: Paid.]]'
        )

    def paid(self) -> int:
        """How often it was paid."""
        return len(read_effects(self.ledger))

    def cashier(self, **binding: object) -> Agent:
        row = Agent.objects.create(
            workspace=self.workspace, name="cashier", system_prompt="Be brief.", approval="always"
        )
        ToolBinding.objects.create(agent=row, tool="http_request", **binding)
        publish_agent(row)
        return row

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[Studio]:
        """A process that executes runs for the length of the block; outside nobody does."""
        host = LocalHost(slots=4)
        await host.start()
        try:
            yield Studio(host, self.workspace)
        finally:
            await host.stop()

    async def asked(self) -> ToolCall:
        """The call of a new run, which waits."""
        async with self.at_work() as studio:
            run_id = await studio.start(self.task, agent="cashier")
            [call] = await waiting(studio, run_id)
        return call


@pytest.fixture
def till(
    workspace: Workspace, wire_server: WireServer, tmp_path: Path, settings: Settings
) -> Iterator[Till]:
    ledger = tmp_path / "effects.jsonl"
    with EffectsServer(ledger=ledger) as effects:
        settings.HEARTBIT_HTTP_ALLOWLIST = effects.url.removeprefix("http://")
        yield Till(workspace, effects.url, ledger)


def by(user: User) -> Actor:
    return Actor(user.username, "web", user.pk)


async def approve(call: ToolCall, user: User, always: Always | None = None) -> None:
    await orm.run_in_thread(
        lambda: approve_call(call, digest=call.digest, by=by(user), always=always)
    )


async def operators(till: Till, number: int = 2) -> list[User]:
    return await orm.run_in_thread(
        lambda: [member(till.workspace, "operator") for _ in range(number)]
    )


def leave(user: User) -> None:
    Membership.objects.filter(user=user).delete()


def become_viewer(user: User) -> None:
    Membership.objects.filter(user=user).update(role="viewer")


def be_deactivated(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def be_deleted(user: User) -> None:
    User.objects.get(pk=user.pk).delete()


async def reasons(run_id: UUID) -> list[str]:
    """Why decisions about the run's calls did not hold, as its journal says."""
    events = RunEvent.objects.filter(run_id=run_id, type=ApprovalLapsed.type).order_by("seq")
    return await orm.run_in_thread(lambda: [event.payload["reason"] for event in events])


def sentence(user: User) -> str:
    lost = "let the call run, but lost the right to decide"
    return f"{user.username} {lost}: it needs a new approval."


async def test_given_an_approval_when_its_maker_may_still_decide_then_it_runs(till: Till) -> None:
    await orm.run_in_thread(till.cashier)
    call = await till.asked()
    [ann] = await operators(till, 1)
    await approve(call, ann)
    async with till.at_work() as studio:
        studio.host.execute(call.run_id)
        run = await wait_for_end(call.run_id, studio.host.window)
    assert (run.output, till.paid(), await reasons(run.pk)) == ("Paid.", 1, [])


@pytest.mark.parametrize("lose", [leave, become_viewer, be_deactivated, be_deleted])
async def test_given_an_approval_when_its_maker_loses_the_right_then_somebody_else_is_asked(
    till: Till, lose: Callable[[User], None]
) -> None:
    await orm.run_in_thread(till.cashier)
    call = await till.asked()
    ann, bob = await operators(till)
    await approve(call, ann)
    await orm.run_in_thread(partial(lose, ann))
    async with till.at_work() as studio:
        studio.host.execute(call.run_id)
        [again] = await waiting(studio, call.run_id, 2)
        assert till.paid() == 0
        assert (again.digest, again.run.status, again.run.worker_id) == (
            call.digest,
            "waiting",
            None,
        )
        assert await reasons(call.run_id) == [sentence(ann)]
        await approve(again, bob)
        run = await wait_for_end(call.run_id, studio.host.window)
    assert (run.output, till.paid()) == ("Paid.", 1)
    decided = await orm.run_in_thread(
        lambda: list(
            Decision.objects.filter(run=run).order_by("id").values_list("wait_key", "decided_by")
        )
    )
    assert decided == [("approval:1.0", ann.username), ("approval:1.0:2", bob.username)]


async def test_given_two_approvals_of_a_group_when_one_leaves_it_then_both_are_asked_for_anew(
    till: Till,
) -> None:
    name = f"treasurers-{till.workspace.slug}"
    people = await operators(till, 3)
    ann, bob, eve = people

    def grouped() -> Group:
        group = Group.objects.create(name=name)
        till.cashier(required_approvals=2, approver_group=name)
        group.user_set.add(*people)
        return group

    group = await orm.run_in_thread(grouped)
    call = await till.asked()
    await approve(call, ann)
    await approve(call, bob)
    await orm.run_in_thread(lambda: group.user_set.remove(ann))
    async with till.at_work() as studio:
        studio.host.execute(call.run_id)
        [again] = await waiting(studio, call.run_id, 2)
        assert await reasons(call.run_id) == [sentence(ann)]
        await approve(again, bob)
        run = await orm.run_in_thread(lambda: Run.objects.get(pk=call.run_id))
        assert (run.status, till.paid()) == ("waiting", 0), "the first two approvals are void"
        await approve(again, eve)
        run = await wait_for_end(call.run_id, studio.host.window)
    assert (run.output, till.paid()) == ("Paid.", 1)


async def test_given_a_standing_permission_when_its_giver_loses_the_right_then_it_does_not_hold(
    till: Till,
) -> None:
    await orm.run_in_thread(till.cashier)
    call = await till.asked()
    [ann] = await operators(till, 1)
    await approve(call, ann, Always("agent"))
    async with till.at_work() as studio:
        studio.host.execute(call.run_id)
        await wait_for_end(call.run_id, studio.host.window)
        second = await studio.start(till.task, agent="cashier")
        await wait_for_end(second, studio.host.window)
        assert till.paid() == 2, "the second one by the permission"
        await orm.run_in_thread(partial(become_viewer, ann))
        third = await studio.start(till.task, agent="cashier")
        assert len(await waiting(studio, third)) == 1
        await orm.run_in_thread(partial(be_deleted, ann))
        assert await orm.run_in_thread(
            Grant.objects.filter(user=None, workspace=till.workspace).exists
        )
        fourth = await studio.start(till.task, agent="cashier")
        assert len(await waiting(studio, fourth)) == 1
    assert till.paid() == 2


async def test_given_a_call_in_doubt_when_who_lets_it_be_made_again_leaves_then_it_is_asked_again(
    till: Till,
) -> None:
    arguments = {"method": "POST", "url": f"{till.url}/pay"}
    call = await orm.run_in_thread(partial(in_doubt, till.workspace, arguments=arguments))
    ann, bob = await operators(till)
    await orm.run_in_thread(partial(resolve_call, call, CallResolution.RETRIED, by=by(ann)))
    await orm.run_in_thread(partial(leave, ann))
    async with till.at_work() as studio:
        studio.host.execute(call.run_id)
        await happened(studio, call.run_id, OutcomeRequested, 2)
        assert await reasons(call.run_id) == [sentence(ann)]
        found = uncertain_calls(till.workspace).select_related("run__workspace")
        again = await orm.run_in_thread(found.get)
        await orm.run_in_thread(partial(resolve_call, again, CallResolution.CONFIRMED, by=by(bob)))
        run = await wait_for_end(call.run_id, studio.host.window)
    assert (run.output, till.paid()) == ("Done.", 0)
