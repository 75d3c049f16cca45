"""A call that nobody decides in time goes to more people, once; they decide beside the first."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import OperationalError, connection
from psycopg.rows import dict_row

from agents.actions.decide_call import approve_call, deny_call
from agents.actions.publish_agent import publish_agent
from agents.actions.waits import notify_approvers, notify_escalation
from agents.choices import Placement
from agents.errors import CallClosedError
from agents.journal.events import ApprovalEscalated, ApprovalRequested, decode
from agents.live.follow import wait_for_end
from agents.llm.messages import ToolCall as Asked
from agents.loop.ports import Committed
from agents.models import Agent, Decision, RunEvent, ToolBinding, ToolCall, Vote, Wait
from agents.runs.overdue_waits import escalate_approvals, expire_waits
from agents.runtime.recovery.sweeper import Sweeper, SweeperConfig
from heartbit_site.base import audit, orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry
from tests.fleet import wait_until
from tests.mailbox import receiving_mail
from tests.runs.holding import accept, answer, claimant, hold, pool
from tests.runtime.deciding import happened, waiting
from tests.web.people import member

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace
    from tests.mailbox import Mailbox
    from tests.runtime.conftest import Studio

__all__ = ["claimant", "pool"]
SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
ASKED = ApprovalRequested("1.0", "save", {"key": "a"}, "at_most_once", "d" * 64, "It is asked for.")
LONG_AGO = "2000-01-01T00:00:00Z"
SWEEPERS = 2
ROUNDS = 10


class People:
    """A clerk in the group that is asked first, a chief in the one that is asked then."""

    def __init__(self, workspace: Workspace) -> None:
        self.first, self.then = (f"{name}-{workspace.slug}" for name in ("clerks", "chiefs"))
        self.clerk = self._of(workspace, self.first)
        self.chief = self._of(workspace, self.then)
        self.stranger = member(workspace, "admin")

    @staticmethod
    def _of(workspace: Workspace, group: str) -> User:
        user = member(workspace, "operator")
        user.email = f"{user.username}@example.org"
        user.save()
        Group.objects.create(name=group).user_set.add(user)
        return user


@pytest.fixture
def people(workspace: Workspace) -> People:
    return People(workspace)


@pytest.fixture
def mailbox(settings: Settings) -> Iterator[Mailbox]:
    with receiving_mail() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", box.port
        yield box


def careful(workspace: Workspace, **binding: Any) -> None:
    """Publish an agent that asks before it calculates."""
    row = Agent.objects.create(
        workspace=workspace, name="solo", system_prompt="Be brief.", approval="always"
    )
    ToolBinding.objects.create(agent=row, tool="calculate", **binding)
    publish_agent(row)


async def asking(
    workspace: Workspace, pool: Pool, claimant: Claimant, **how: Any
) -> tuple[ToolCall, Wait]:
    """Return a waiting call, the first of two of a run that no worker holds, and its wait."""
    run_id = await orm.run_in_thread(lambda: accept(workspace))
    _, lease = await hold(pool, claimant, run_id)
    both = [Asked(key, "save", json.dumps({"key": key})) for key in "ab"]
    await lease.record(answer(1, *both))
    asked = replace(ASKED, escalate_seconds=300, **how)
    assert isinstance(await lease.suspend(asked), Committed)
    calls = ToolCall.objects.select_related("run__workspace", "run__version__agent")
    return await orm.run_in_thread(
        lambda: (calls.get(run_id=run_id, call_id="1.0"), Wait.objects.get(run_id=run_id))
    )


async def make_due(run_id: UUID, **more: str) -> None:
    waits = Wait.objects.filter(run_id=run_id)
    await orm.run_in_thread(lambda: waits.update(escalates_at=LONG_AGO, **more))


async def approve(call: ToolCall, user: User) -> None:
    by = Actor(user.username, "web", user.pk)
    await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=by))


def escalations(run_id: UUID) -> list[ApprovalEscalated]:
    events = RunEvent.objects.filter(run_id=run_id, type=ApprovalEscalated.type)
    found = [decode(event.type, event.payload) for event in events]
    return [event for event in found if isinstance(event, ApprovalEscalated)]


def entries(run_id: UUID) -> list[AuditEntry]:
    found = AuditEntry.objects.filter(target=f"run:{run_id}", action="approval.escalate")
    return list(found)


def sweep(told: list[int], *, gate: threading.Barrier | None = None, times: int = 1) -> None:
    """What a sweeper of local runs does; it notes the waits that it escalated."""
    sweeper = Sweeper(
        SweeperConfig(
            conninfo=settings.DATABASE_DIRECT_URL,
            every_seconds=1,
            max_attempts=3,
            queues=("nobody-serves-it",),
            own_worker_id=lambda: 0,
            heartbeat_is_stable=lambda: False,
            free_slots=lambda: 0,
            wake=None,
            home=Placement.LOCAL,
            escalated=told.append,
        )
    )
    conninfo: Any = settings.DATABASE_DIRECT_URL
    with psycopg.connect(conninfo, autocommit=True, row_factory=dict_row) as swept:
        for _ in range(times):
            if gate is not None:
                gate.wait()
            sweeper.sweep(swept)


async def test_given_a_call_that_is_due_when_it_is_escalated_then_both_groups_make_the_quorum(
    studio: Studio, people: People
) -> None:
    how = {"required_approvals": 2, "approver_group": people.first}
    more = {"escalate_after_minutes": 5, "escalation_group": people.then}
    await orm.run_in_thread(partial(careful, studio.workspace, **how, **more))
    run_id = await studio.start(SUM)
    [call] = await waiting(studio, run_id)
    wait = await orm.run_in_thread(lambda: Wait.objects.get(run_id=run_id))
    assert wait.escalates_at is not None
    assert abs(wait.escalates_at - wait.created_at - timedelta(minutes=5)) < timedelta(seconds=1)
    await approve(call, people.clerk)
    with pytest.raises(CallClosedError, match=f"members of the group {people.first} may"):
        await approve(call, people.chief)

    await make_due(run_id)
    await happened(studio, run_id, ApprovalEscalated)
    with pytest.raises(CallClosedError, match=f"{people.first} or {people.then} may decide"):
        await approve(call, people.stranger)
    await approve(call, people.chief)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.output == "Done."
    found = await orm.run_in_thread(lambda: escalations(run_id))
    assert found == [ApprovalEscalated("1.0", "approval:1.0", people.then)]
    assert await orm.run_in_thread(Vote.objects.filter(run_id=run_id).count) == 2


async def test_given_no_second_group_when_it_is_escalated_then_whoever_may_decide_at_all_may(
    studio: Studio, people: People
) -> None:
    how = {"approver_group": people.first, "escalate_after_minutes": 1}
    await orm.run_in_thread(partial(careful, studio.workspace, **how))
    run_id = await studio.start(SUM)
    [call] = await waiting(studio, run_id)
    by = Actor(people.stranger.username, "web", people.stranger.pk)
    with pytest.raises(CallClosedError, match="Only members"):
        await orm.run_in_thread(partial(deny_call, call, digest=call.digest, by=by, reason="no"))
    await make_due(run_id)
    await happened(studio, run_id, ApprovalEscalated)
    await approve(call, people.stranger)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.output == "Done.", "the right holds at the execution as well"


async def test_given_two_sweepers_when_calls_are_due_then_each_is_escalated_once(
    workspace: Workspace, pool: Pool, claimant: Claimant, people: People
) -> None:
    made = [await asking(workspace, pool, claimant, group=people.first) for _ in range(ROUNDS)]
    early, _ = await asking(workspace, pool, claimant)
    for call, _ in made:
        await make_due(call.run_id)
    told: list[int] = []
    gate = threading.Barrier(SWEEPERS)
    threads = [
        threading.Thread(target=sweep, args=(told,), kwargs={"gate": gate, "times": 5})
        for _ in range(SWEEPERS)
    ]

    def race() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    await orm.run_in_thread(race)
    # A process of other tests may sweep too, and come first.
    assert len(told) == len(set(told))
    assert set(told) <= {wait.pk for _, wait in made}
    for call, wait in made:
        assert len(await orm.run_in_thread(partial(escalations, call.run_id))) == 1
        await orm.run_in_thread(wait.refresh_from_db)
        assert wait.escalated_at is not None
        [entry] = await orm.run_in_thread(partial(entries, call.run_id))
        assert (entry.actor, entry.via, entry.label) == ("escalation", "system", "save")
        assert entry.workspace_id == workspace.pk
        said = {"call": "1.0", "digest": call.digest, "group": ""}
        assert entry.details == said
    assert await orm.run_in_thread(partial(audit.verify, workspace)) == [], "the chain holds"
    assert await orm.run_in_thread(partial(entries, early.run_id)) == []
    assert await orm.run_in_thread(partial(escalations, early.run_id)) == [], "it is not due"


async def test_given_a_call_that_is_escalated_then_the_second_group_is_written_to(
    workspace: Workspace, pool: Pool, claimant: Claimant, people: People, mailbox: Mailbox
) -> None:
    how = {"group": people.first, "escalate_group": people.then}
    call, wait = await asking(workspace, pool, claimant, **how)
    assert await orm.run_in_thread(partial(notify_approvers, call.run_id)) == 1
    await make_due(call.run_id)
    await orm.run_in_thread(partial(sweep, []))
    assert len(await orm.run_in_thread(partial(escalations, call.run_id))) == 1
    [entry] = await orm.run_in_thread(partial(entries, call.run_id))
    assert entry.details["group"] == people.then
    assert await orm.run_in_thread(partial(notify_escalation, wait.pk)) == 1
    first, second = mailbox.mails
    assert (first["To"], second["To"]) == (people.clerk.email, people.chief.email)
    assert "No one has decided in time" in str(second.get_payload())
    assert "No one has decided in time" not in str(first.get_payload())
    await approve(call, people.chief)
    assert await orm.run_in_thread(partial(notify_escalation, wait.pk)) == 0, "it is decided"


async def test_given_a_time_limit_when_it_is_over_then_the_call_expires_escalated_or_not(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    limit = {"timeout_seconds": 600}
    escalated, _ = await asking(workspace, pool, claimant, **limit)
    await make_due(escalated.run_id)
    await orm.run_in_thread(partial(sweep, []))
    late, _ = await asking(workspace, pool, claimant, **limit)
    await make_due(late.run_id, expires_at=LONG_AGO)
    await make_due(escalated.run_id, expires_at=LONG_AGO)

    def escalate() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM heartbit_escalate_approvals('local', 100)")

    await orm.run_in_thread(escalate)
    assert await orm.run_in_thread(partial(escalations, late.run_id)) == [], "its time is over"
    await orm.run_in_thread(partial(sweep, []))
    runs = [escalated.run_id, late.run_id]
    decided = Decision.objects.filter(run__in=runs).values_list("via", flat=True)
    assert await orm.run_in_thread(lambda: list(decided)) == ["expiry", "expiry"]
    assert len(await orm.run_in_thread(partial(escalations, escalated.run_id))) == 1


@pytest.mark.parametrize("how", ["escalates_at", "expires_at"])
async def test_given_an_audit_that_cannot_be_written_when_a_time_is_over_then_nothing_happens_yet(
    workspace: Workspace, pool: Pool, claimant: Claimant, how: str
) -> None:
    _, wait = await asking(workspace, pool, claimant, timeout_seconds=600)
    await orm.run_in_thread(lambda: Wait.objects.filter(pk=wait.pk).update(**{how: LONG_AGO}))

    def blocked() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '300ms'")
            try:
                escalate_approvals(Placement.LOCAL, 100)
                expire_waits(100)
            finally:
                cursor.execute("RESET lock_timeout")

    def times() -> tuple[Any, Any]:
        row = Wait.objects.get(pk=wait.pk)
        return row.escalated_at, row.resolved_at

    conninfo: Any = settings.DATABASE_DIRECT_URL
    with psycopg.connect(conninfo) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(7703, %s)", [workspace.pk])
        with contextlib.suppress(OperationalError):  # nothing is left if a worker is blocked first
            await orm.run_in_thread(blocked)
        assert await orm.run_in_thread(times) == (None, None), "no step without its entry"

    def is_swept() -> bool:
        sweep([])
        return times() != (None, None)

    # A worker's sweep may hold the row at this moment.
    await orm.run_in_thread(partial(wait_until, is_swept))
    entries = AuditEntry.objects.filter(workspace=workspace, target=f"run:{wait.run_id}")
    assert await orm.run_in_thread(entries.count) == 1
