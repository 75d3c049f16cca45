"""Who started a run: its row names them, and only its root does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from django.db import connection, transaction

from agents.actions.runs import cancel_run, retry_run
from agents.actions.start_conversation import start_conversation
from agents.choices import BusyPolicy
from agents.journal.events import RunForked, encode
from agents.llm.messages import ToolCall
from agents.models import Agent, Run
from agents.runs import archive
from heartbit_site.base.audit import Actor
from heartbit_site.base.ids import new_id
from heartbit_site.base.os_user import os_username
from heartbit_site.first_start import default_workspace
from tests.admin import rows
from tests.starts import fork_run, post_message, start_run
from tests.web.people import person

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace
    from tests.command import Command

# The calls as the version before made them; in a rolling deploy it still does.
FORMER_SUBMIT = "SELECT 1 FROM heartbit_submit(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
FORMER_CONVERSE = (
    "SELECT 1 FROM heartbit_converse(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
FORMER_FORK = "SELECT 1 FROM heartbit_fork(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


@pytest.fixture(autouse=True)
def parked(workspace: Workspace) -> None:
    """No worker takes the workspace's runs."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")


@pytest.fixture
def ada(database: None) -> User:
    return person()


@pytest.fixture
def ben(database: None) -> User:
    return person()


def named(user: User) -> Actor:
    return Actor(user.get_username(), "web", user.pk)


def starter(run_id: UUID | str) -> tuple[str, int | None]:
    return Run.objects.values_list("started_by", "started_user").get(pk=run_id)


def started(workspace: Workspace, user: User, task: str = "x") -> Run:
    run_id = start_run(workspace, task, agent="writer", by=named(user))
    return Run.objects.select_related("version__agent", "workspace").get(pk=run_id)


def test_given_a_person_then_the_run_has_their_name_and_account(
    workspace: Workspace, ada: User
) -> None:
    assert starter(started(workspace, ada).pk) == (ada.username, ada.pk)
    assert starter(start_run(workspace, "x", agent="writer")) == ("", None)
    long = Actor("a" * 300, "terminal")
    assert starter(start_run(workspace, "x", agent="writer", by=long)) == ("a" * 200, None)


def test_given_an_idempotency_key_then_the_run_stays_with_whoever_was_first(
    workspace: Workspace, ada: User, ben: User
) -> None:
    first, second = [
        start_run(workspace, "x", agent="writer", idempotency_key="k", by=named(user))
        for user in (ada, ben)
    ]
    assert first == second
    assert starter(second) == (ada.username, ada.pk)


def test_given_a_thread_then_each_message_is_of_whoever_said_it_and_a_steer_starts_nothing(
    workspace: Workspace, ada: User, ben: User
) -> None:
    thread = start_conversation(workspace, agent="writer")
    first = post_message(thread, "One.", by=named(ada)).run_id
    held = post_message(thread, "Two.", by=named(ben))
    told = post_message(thread, "Go!", by=named(ben), busy_policy=BusyPolicy.STEER)
    assert (held.outcome, told.outcome) == ("queued", "steered")
    assert starter(first) == (ada.username, ada.pk)
    assert starter(held.run_id) == (ben.username, ben.pk)
    assert told.run_id == first


def test_given_a_fork_and_a_retry_then_each_is_of_whoever_made_it(
    workspace: Workspace, ada: User, ben: User
) -> None:
    source = started(workspace, ada)
    assert starter(fork_run(source, 0, by=named(ben))) == (ben.username, ben.pk)
    cancel_run(workspace, source.pk, reason="no")
    source.refresh_from_db()
    assert starter(retry_run(source, by=named(ben))) == (ben.username, ben.pk)
    assert starter(source.pk) == (ada.username, ada.pk)


def test_given_sub_agents_then_the_root_alone_names_somebody(
    workspace: Workspace, ada: User
) -> None:
    root = start_run(workspace, "Why?", agent="orchestrator", model=rows.MODEL, by=named(ada))
    held = rows.Held(root)
    held.record(rows.answer(1, "", ToolCall("x", "delegate_task", '{"tasks": []}')))
    child = held.delegate("1.0", "researcher", "Look it up.")
    assert starter(root) == (ada.username, ada.pk)
    assert starter(child) == ("", None)


def test_given_an_account_that_is_deleted_then_the_name_stays(
    workspace: Workspace, ada: User
) -> None:
    run, name = started(workspace, ada), ada.username
    ada.delete()
    assert starter(run.pk) == (name, None)


def test_given_an_archived_run_then_its_line_says_who_started_it(
    workspace: Workspace, ada: User
) -> None:
    run = started(workspace, ada)
    (line,) = archive.tree_lines([run.pk])
    row = json.loads(line)["run"]
    assert (row["started_by"], row["started_user_id"]) == (ada.username, ada.pk)


def test_given_a_process_of_the_version_before_then_its_calls_still_start_runs(
    workspace: Workspace,
) -> None:
    thread = start_conversation(workspace, agent="writer")
    alone, said, fork = (new_id() for _ in range(3))
    what = (workspace.pk, "writer", "x", "local", 0, "", None, "", False, None)
    events = json.dumps([encode(RunForked(str(alone), 1, 0, {}, "anna"))])
    with connection.cursor() as cursor:
        cursor.execute(FORMER_SUBMIT, [alone, *what])
        cursor.execute(FORMER_CONVERSE, [thread.pk, "queue", said, *what, "anna"])
        cursor.execute(
            FORMER_FORK,
            [fork, workspace.pk, alone, 1, None, None, "{}", events, "local", None],
        )
    assert [starter(run) for run in (alone, said, fork)] == [("", None), ("anna", None), ("", None)]


def test_given_many_runs_then_an_index_gives_somebodys_own_in_their_order(
    workspace: Workspace, ada: User
) -> None:
    own = Run.objects.filter(workspace=workspace, started_user=ada, parent__isnull=True)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        plan = own.order_by("-pk")[:21].explain()
    assert "run_started_by" in plan, plan
    assert "Sort" not in plan, plan


def test_given_the_command_line_then_the_systems_user_is_named(heartbit: Command) -> None:
    workspace = default_workspace()
    me = (f"{os_username()} at a terminal", None)
    ran = heartbit("run", "[[text: Hi.]]", "--agent", "writer", "--json").json["id"]
    made = [
        heartbit(*arguments).out.strip()
        for arguments in (
            ("submit", "[[text: Hi.]]", "--agent", "writer"),
            ("runs", "fork", ran, "--turn", "1", "--message", "[[text: More.]]"),
            ("runs", "retry", ran),
        )
    ]
    for run_id in made:
        cancel_run(workspace, Run.objects.get(pk=run_id).pk, reason="it was looked at")
    assert [starter(run_id) for run_id in (ran, *made)] == [me] * 4
    assert f"Started by: {me[0]}\n" in heartbit("status", ran).out
