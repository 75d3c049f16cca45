"""Drafts of agents: kept, tested, published and discarded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.draft_agent import (
    NoDraftError,
    discard_draft,
    publish_draft,
    save_draft,
    start_test,
)
from agents.actions.fleet import set_agent_state
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run, retry_run, steer_run
from agents.actions.save_agent import VersionConflictError
from agents.choices import BusyPolicy
from agents.definitions.validation_messages import InvalidSettingError
from agents.errors import AgentNotFoundError, TooManyRunsError
from agents.models import Agent, AgentDraft, Budget, Conversation, Run
from agents.models.draft import DRAFT
from agents.reads.agent_status import agents_with_metrics
from agents.reads.agents import find_editable, spec_of
from agents.reads.drafts import draft_of, source_of, stamp_of
from heartbit_site.base.access import Access
from heartbit_site.base.audit import SYSTEM, Actor, actor_of
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.models import AuditEntry
from heartbit_site.base.query import fetch_one
from tests.fleet import wait_until
from tests.starts import post_message, serve_nobody, start_run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

ANNA = Actor("anna", "web")


def keep(workspace: Workspace, name: str = "writer", **changed: Any) -> AgentDraft | None:
    agent = find_editable(workspace, name)
    spec: Any = spec_of(source_of(agent)).model_copy(update=changed)
    return save_draft(workspace, name, spec, seen=stamp_of(agent), by=ANNA)


def test_given_a_draft_then_the_published_agent_is_as_it_was(workspace: Workspace) -> None:
    before = find_editable(workspace, "writer")
    draft = keep(workspace, system_prompt="Write short.", max_turns=3)
    assert draft is not None
    assert (draft.row.system_prompt, draft.row.max_turns, draft.saved_by) == (
        "Write short.",
        3,
        "anna",
    )
    after = find_editable(workspace, "writer")
    assert (after.system_prompt, after.current_version) == (
        before.system_prompt,
        before.current_version,
    )
    assert [one.agent.name for one in agents_with_metrics(workspace, names=["writer"])] == [
        "writer"
    ]


def test_given_what_is_published_then_no_draft_is_kept(workspace: Workspace) -> None:
    assert keep(workspace) is None
    assert not Agent.objects.filter(workspace=workspace, origin=DRAFT).exists()


def test_given_two_savers_then_the_second_is_told_and_nothing_is_lost(workspace: Workspace) -> None:
    agent = find_editable(workspace, "writer")
    seen, spec = stamp_of(agent), spec_of(agent)
    keep(workspace, system_prompt="Mine.")
    with pytest.raises(VersionConflictError, match="anna has saved writer"):
        save_draft(
            workspace,
            "writer",
            spec.model_copy(update={"system_prompt": "Theirs."}),  # type: ignore[arg-type]
            seen=seen,
            by=SYSTEM,
        )
    found = draft_of(agent)
    assert found is not None
    assert found.row.system_prompt == "Mine."


def test_given_a_publication_of_the_draft_then_the_version_has_note_and_author(
    workspace: Workspace,
) -> None:
    keep(workspace, system_prompt="Write short.")
    agent = find_editable(workspace, "writer")
    publish_draft(workspace, "writer", note=" Shorter. ", seen=stamp_of(agent), by=ANNA)
    agent = find_editable(workspace, "writer")
    version = agent.current_version
    assert version is not None
    assert (version.number, version.note, version.published_by) == (2, "Shorter.", "anna")
    assert agent.system_prompt == "Write short."
    assert draft_of(agent) is None
    entry = AuditEntry.objects.filter(target=f"agent:{agent.pk}").latest("id")
    assert (entry.action, entry.details["note"]) == ("agent.change", "Shorter.")
    with pytest.raises(NoDraftError):
        publish_draft(workspace, "writer", note="", seen=stamp_of(agent), by=ANNA)


def test_given_a_publication_meanwhile_then_the_draft_is_not_published_unseen(
    workspace: Workspace,
) -> None:
    keep(workspace, system_prompt="Write short.")
    agent = find_editable(workspace, "writer")
    seen = stamp_of(agent)
    agent.max_turns = 4
    agent.save()
    publish_agent(agent)
    with pytest.raises(VersionConflictError, match="since you compared"):
        publish_draft(workspace, "writer", note="", seen=seen, by=ANNA)
    assert draft_of(agent) is not None


def test_given_a_bad_setting_then_nothing_is_kept(workspace: Workspace) -> None:
    with pytest.raises(InvalidSettingError, match="nobody"):
        keep(workspace, team=["nobody"])
    assert not AgentDraft.objects.filter(agent__workspace=workspace).exists()


def test_given_a_discarded_draft_then_the_next_edit_begins_with_what_is_published(
    workspace: Workspace,
) -> None:
    keep(workspace, system_prompt="Write short.")
    discard_draft(workspace, "writer", by=ANNA)
    agent = find_editable(workspace, "writer")
    assert source_of(agent) == agent
    keep(workspace, max_turns=3)
    found = draft_of(agent)
    assert found is not None
    assert (found.row.max_turns, found.row.system_prompt) == (3, agent.system_prompt)


@pytest.mark.usefixtures("worker")
def test_given_a_test_then_the_draft_answers_with_the_agents_team(workspace: Workspace) -> None:
    keep(workspace, "orchestrator", system_prompt="Lead shortly.")
    talk = start_test(workspace, "orchestrator", by=ANNA)
    task = '[[delegate: {"agent": "writer", "task": "Write. [[text: Done.]]"}]] [[text: All done.]]'
    made = post_message(talk, task, model="openai:fake").run_id
    wait_until(Run.objects.filter(pk=made, status="succeeded").exists, what="the test's end")
    run = Run.objects.get(pk=made)
    assert run.version.agent.origin == DRAFT
    assert run.version.snapshot["system_prompt"] == "Lead shortly."
    (child,) = run.children.all()
    assert (child.agent, child.version.agent.origin) == ("writer", "")
    (orchestrator,) = agents_with_metrics(workspace, names=["orchestrator"])
    assert orchestrator.metrics.runs == 0


@pytest.fixture
def talk(workspace: Workspace) -> Conversation:
    """A test of the writer's draft, on a queue that no worker serves."""
    keep(workspace, system_prompt="UNPUBLISHED", queue="nobody-serves-this")
    return start_test(workspace, "writer", by=ANNA)


def test_given_a_test_then_only_those_who_may_edit_the_agent_continue_or_fork_it(
    workspace: Workspace, talk: Conversation
) -> None:
    scopes = frozenset({"runs:read", "runs:write"})
    operator = actor_of(Access(workspace, "oper", "api", scopes, None, key_id=1))
    for policy in (BusyPolicy.QUEUE, BusyPolicy.STEER):
        with pytest.raises(ForbiddenError):
            post_message(talk, "Go.", busy_policy=policy, by=operator)
    made = post_message(talk, "Go.", by=ANNA).run_id
    cancel_run(workspace, made, reason="no")
    with pytest.raises(ForbiddenError):
        retry_run(Run.objects.get(pk=made), by=operator)
    assert Run.objects.filter(workspace=workspace).count() == 1


def test_given_a_stopped_agent_then_its_draft_is_not_tested(
    workspace: Workspace, talk: Conversation
) -> None:
    Agent.objects.filter(workspace=workspace, origin="", name="writer").update(enabled=False)
    with pytest.raises(AgentNotFoundError, match="The agent writer is stopped"):
        post_message(talk, "Go.")
    assert not Run.objects.filter(workspace=workspace).exists()


def test_given_a_stop_of_the_agent_then_tests_that_wait_are_not_claimed(
    workspace: Workspace, talk: Conversation
) -> None:
    serve_nobody(workspace)
    run = post_message(talk, "Go.").run_id
    writer = find_editable(workspace, "writer")
    query = "SELECT heartbit_is_stopped(r) FROM agents_run r WHERE r.id = %s"
    set_agent_state(writer, "stop")
    assert fetch_one(query, [run]) == (True,)
    set_agent_state(writer, "start")
    assert fetch_one(query, [run]) == (False,)


def test_given_who_may_not_edit_agents_then_a_test_is_not_steered(
    workspace: Workspace, talk: Conversation
) -> None:
    serve_nobody(workspace)
    run = Run.objects.get(pk=post_message(talk, "Go.").run_id)
    scopes = frozenset({"runs:read", "runs:write"})
    operator = actor_of(Access(workspace, "oper", "api", scopes, None, key_id=1))
    with pytest.raises(ForbiddenError):
        steer_run(run, "Say what you were told.", by=operator)
    steer_run(run, "Shorter.", by=ANNA)


def test_given_a_limit_of_the_agents_runs_then_tests_of_its_draft_count(
    workspace: Workspace, talk: Conversation
) -> None:
    agents = Agent.objects.filter(workspace=workspace, origin="", name="writer")
    agents.update(max_runs_per_minute=1)
    post_message(talk, "One.")
    with pytest.raises(TooManyRunsError):
        post_message(talk, "Two.")
    with pytest.raises(TooManyRunsError):
        start_run(workspace, "Three.", agent="writer")


@pytest.mark.usefixtures("worker")
def test_given_a_budget_of_the_agent_then_tests_of_its_draft_count(workspace: Workspace) -> None:
    keep(workspace, system_prompt="UNPUBLISHED")
    writer = find_editable(workspace, "writer")
    values: dict[str, Any] = {"workspace": workspace, "agent": writer, "period": "day"}
    budget = Budget.objects.create(max_tokens=10_000_000, **values)
    talk = start_test(workspace, "writer", by=ANNA)

    def said(text: str) -> Run:
        runs = Run.objects.filter(pk=post_message(talk, text, model="openai:fake").run_id)
        wait_until(runs.filter(finished_at__isnull=False).exists, what="the test's end")
        return runs.get()

    assert said("[[text: One.]]").status == "succeeded"
    budget.refresh_from_db()
    assert budget.spent_tokens > 0
    Budget.objects.filter(pk=budget.pk).update(max_tokens=1)
    assert said("[[text: Two.]]").status == "failed"
