"""Runs a day of a workspace and a minute of an agent: refused at submission, however many come."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections, transaction
from django.db.models import F
from django.utils import timezone

from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run, retry_run
from agents.actions.start_conversation import start_conversation
from agents.choices import BusyPolicy, Placement
from agents.errors import QuotaExceededError, TooManyRunsError
from agents.models import Agent, AgentVersion, Run, RunCount
from heartbit_site.base import orm
from heartbit_site.base.audit import NOBODY
from tests.api.server import Caller, WebServer, key_for
from tests.pace import in_time
from tests.quotas.limited import counted, flood, give_tier, new_workspace, park
from tests.runs.holding import accept, claimant, fetch, pool, suspended_on
from tests.starts import fork_run, post_message, start_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace
    from tests.command import Command

__all__ = ["claimant", "pool"]
NOBODYS = "nobody-serves-this"


@pytest.fixture(autouse=True)
def parked(workspace: Workspace) -> None:
    """No worker takes the workspace's runs."""
    park(workspace, NOBODYS)


def submit(workspace: Workspace, **options: Any) -> UUID:
    return start_run(workspace, "x", agent="writer", **options)


def writer(workspace: Workspace, **fields: object) -> Agent:
    agents = Agent.objects.filter(workspace=workspace, origin="", name="writer")
    agents.update(**fields)
    return agents.get()


def at_once(times: int, start: Callable[[], UUID]) -> tuple[list[UUID], list[Exception]]:
    """Call it so many times at the same moment, each on a connection of its own."""
    gate = threading.Barrier(times)

    def one(_: int) -> UUID | Exception:
        gate.wait()
        try:
            return start()
        except QuotaExceededError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(times) as threads:
        results = list(threads.map(one, range(times)))
    accepted = [result for result in results if not isinstance(result, Exception)]
    return accepted, [result for result in results if isinstance(result, Exception)]


class TestOfAWorkspace:
    def test_given_fifty_at_once_and_a_limit_of_ten_then_exactly_ten_are_accepted(
        self, workspace: Workspace
    ) -> None:
        give_tier(workspace, runs_per_day=10)
        accepted, refused = at_once(50, partial(submit, workspace))
        assert (len(set(accepted)), len(refused)) == (10, 40)
        assert Run.objects.filter(workspace=workspace).count() == 10
        assert counted(workspace) == 10

    def test_the_sentence_says_whose_limit_it_is_and_when_it_ends(
        self, workspace: Workspace
    ) -> None:
        tier = give_tier(workspace, runs_per_day=1)
        submit(workspace)
        with pytest.raises(QuotaExceededError) as refused:
            submit(workspace)
        said = str(refused.value)
        assert f"The workspace {workspace.slug} has started its 1 run of today" in said
        assert f"(tier {tier.name})" in said
        assert "at midnight UTC" in said
        assert 0 < refused.value.seconds <= 24 * 3600

    def test_given_the_next_day_then_it_counts_from_nothing(self, workspace: Workspace) -> None:
        give_tier(workspace, runs_per_day=2)
        submit(workspace), submit(workspace)
        with pytest.raises(QuotaExceededError):
            submit(workspace)
        rows = RunCount.objects.filter(workspace=workspace)
        rows.update(starts_at=F("starts_at") - timedelta(days=1))
        submit(workspace)
        assert counted(workspace) == 1

    def test_an_idempotent_repeat_is_not_counted_and_not_refused(
        self, workspace: Workspace
    ) -> None:
        give_tier(workspace, runs_per_day=2)
        first = submit(workspace, idempotency_key="k")
        assert submit(workspace, idempotency_key="k") == first
        assert counted(workspace) == 1
        submit(workspace)
        assert submit(workspace, idempotency_key="k") == first, "also when the day is used up"
        with pytest.raises(QuotaExceededError):
            submit(workspace, idempotency_key="another")

    def test_given_the_same_key_twenty_times_at_once_then_one_run_is_counted(
        self, workspace: Workspace
    ) -> None:
        give_tier(workspace, runs_per_day=10)
        accepted, refused = at_once(20, partial(submit, workspace, idempotency_key="same"))
        assert len(set(accepted)) == 1
        assert not refused
        assert counted(workspace) == 1

    def test_what_is_rolled_back_is_not_counted(self, workspace: Workspace) -> None:
        give_tier(workspace, runs_per_day=1)
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            submit(workspace)
            raise ZeroDivisionError
        submit(workspace)
        assert counted(workspace) == 1

    def test_given_a_refusal_in_a_transaction_then_that_goes_on(self, workspace: Workspace) -> None:
        give_tier(workspace, runs_per_day=1)
        with transaction.atomic():
            submit(workspace)
            with pytest.raises(QuotaExceededError):
                submit(workspace)
            Agent.objects.filter(workspace=workspace).update(description="It went on.")
        assert writer(workspace).description == "It went on."

    def test_forks_retries_and_messages_count_and_steers_do_not(self, workspace: Workspace) -> None:
        give_tier(workspace, runs_per_day=3)
        source = Run.objects.select_related("workspace", "version__agent").get(pk=submit(workspace))
        fork_run(source, 0)
        thread = start_conversation(workspace, agent="writer")
        said = post_message(thread, "One.")
        assert counted(workspace) == 3
        told = post_message(thread, "Go!", busy_policy=BusyPolicy.STEER)
        assert told.run_id == said.run_id
        with pytest.raises(QuotaExceededError):
            post_message(thread, "Two.")
        with pytest.raises(QuotaExceededError):
            fork_run(source, 0)
        cancel_run(workspace, source.pk, reason="no")
        source.refresh_from_db()
        with pytest.raises(QuotaExceededError):
            retry_run(source, by=NOBODY)
        assert Run.objects.filter(workspace=workspace).count() == 3

    async def test_sub_agents_do_not_count(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: give_tier(workspace, runs_per_day=1))
        root = await orm.run_in_thread(lambda: accept(workspace))
        children = await suspended_on(pool, claimant, root, ["writer", "analyst"])
        assert [(await fetch(child)).status for child in children] == ["queued", "queued"]
        assert await orm.run_in_thread(lambda: counted(workspace)) == 1

    def test_runs_in_one_s_own_process_count_as_well(self, workspace: Workspace) -> None:
        give_tier(workspace, runs_per_day=1)
        submit(workspace, home=Placement.LOCAL)
        with pytest.raises(QuotaExceededError):
            submit(workspace)

    def test_a_new_limit_knows_what_the_day_has_seen(self, workspace: Workspace) -> None:
        flood(workspace, 4)
        assert counted(workspace) is None
        tier = give_tier(workspace, runs_per_day=5)
        submit(workspace)
        assert counted(workspace) == 5
        with pytest.raises(QuotaExceededError):
            submit(workspace)
        tier.runs_per_day = 6
        tier.save()
        submit(workspace)
        with pytest.raises(QuotaExceededError):
            submit(workspace)

    async def test_a_new_limit_counts_no_sub_agents_of_the_day(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        root = await orm.run_in_thread(lambda: accept(workspace))
        await suspended_on(pool, claimant, root, ["writer", "analyst"])
        await orm.run_in_thread(lambda: give_tier(workspace, runs_per_day=5))
        await orm.run_in_thread(lambda: submit(workspace))
        assert await orm.run_in_thread(lambda: counted(workspace)) == 2

    def test_others_are_not_touched(self, workspace: Workspace) -> None:
        give_tier(workspace, runs_per_day=1)
        other, free = new_workspace(), new_workspace()
        other.tier = workspace.tier
        other.save()
        for each in (other, free):
            park(each, NOBODYS)
        submit(workspace)
        submit(other)
        assert (counted(workspace), counted(other)) == (1, 1)
        for _ in range(3):
            submit(free)
        assert counted(free) is None


class TestOfAnAgent:
    def test_given_thirty_at_once_and_a_limit_of_five_then_exactly_five_are_accepted(
        self, workspace: Workspace
    ) -> None:
        agent = writer(workspace, max_runs_per_minute=5)
        in_one_minute(agent)
        accepted, refused = at_once(30, partial(submit, workspace))
        assert (len(set(accepted)), len(refused)) == (5, 25)
        assert {type(error) for error in refused} == {TooManyRunsError}
        assert "The agent writer takes 5 runs a minute" in str(refused[0])
        assert counted(workspace, agent) == 5
        assert start_run(workspace, "x", agent="analyst"), "another agent"

    def test_given_the_next_minute_then_it_takes_runs_again(self, workspace: Workspace) -> None:
        agent = writer(workspace, max_runs_per_minute=1)
        submit(workspace)
        rows = RunCount.objects.filter(workspace=workspace, agent=agent)
        rows.update(starts_at=F("starts_at") - timedelta(minutes=1))
        submit(workspace)
        assert counted(workspace, agent) == 1

    def test_given_its_minute_is_over_full_then_the_workspace_s_day_is_not_charged(
        self, workspace: Workspace
    ) -> None:
        give_tier(workspace, runs_per_day=10)
        in_one_minute(writer(workspace, max_runs_per_minute=1))
        submit(workspace)
        with pytest.raises(TooManyRunsError):
            submit(workspace)
        assert counted(workspace) == 1

    async def test_sub_agents_are_not_held_back(
        self, workspace: Workspace, pool: Pool, claimant: Claimant
    ) -> None:
        await orm.run_in_thread(lambda: writer(workspace, max_runs_per_minute=1))
        root = await orm.run_in_thread(lambda: accept(workspace))
        children = await suspended_on(pool, claimant, root, ["writer", "writer"])
        assert len(children) == 2

    def test_it_is_no_part_of_a_version(self, workspace: Workspace) -> None:
        before = publish_agent(writer(workspace))
        after = publish_agent(writer(workspace, max_runs_per_minute=7))
        assert after.pk == before.pk
        versions = AgentVersion.objects.filter(agent__workspace=workspace, agent__name="writer")
        assert versions.count() == 1


class TestOnTheSurfaces:
    def test_the_api_says_429_and_when_to_ask_again(
        self, site: WebServer, workspace: Workspace
    ) -> None:
        give_tier(workspace, runs_per_day=1)
        submit(workspace)
        caller = Caller(site, key_for(workspace))
        with caller.http:
            answer = caller.post("/runs", {"task": "x", "agent": "writer"})
        assert answer.status_code == 429
        assert answer.headers["content-type"] == "application/problem+json"
        assert 0 < int(answer.headers["retry-after"]) <= 24 * 3600
        problem = answer.json()
        assert problem["code"] == "quota_exceeded"
        assert "has started its 1 run of today" in problem["detail"]

    def test_a_message_of_a_chat_is_refused_alike(
        self, site: WebServer, workspace: Workspace
    ) -> None:
        in_one_minute(writer(workspace, max_runs_per_minute=1))
        submit(workspace)
        thread = start_conversation(workspace, agent="writer")
        caller = Caller(site, key_for(workspace))
        with caller.http:
            answer = caller.post(f"/conversations/{thread.pk}/messages", {"text": "x"})
        assert (answer.status_code, answer.json()["code"]) == (429, "too_many_runs")

    @pytest.mark.paced
    def test_a_command_says_it_at_once_and_does_not_wait_for_midnight(
        self, site: WebServer, heartbit: Command, workspace: Workspace
    ) -> None:
        give_tier(workspace, runs_per_day=1)
        submit(workspace)
        said = "has started its 1 run of today"
        afar = {"HEARTBIT_URL": site.url, "HEARTBIT_API_KEY": key_for(workspace)}
        began = time.monotonic()
        there = heartbit("submit", "x", "--agent", "writer", env=afar)
        took = time.monotonic() - began
        assert there.code != 0
        assert said in " ".join(there.err.split())
        in_time(took, 10)


def in_one_minute(agent: Agent) -> None:
    """Let the agent's count be of a period that does not end while the test runs."""
    RunCount.objects.create(
        workspace=agent.workspace, agent=agent, starts_at=timezone.now() + timedelta(hours=1)
    )
