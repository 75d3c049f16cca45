"""What a person's runs left outside of them: plans, memories of agents, credentials, the log."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import pytest
from django.db import DatabaseError, connection, transaction
from django_celery_beat.models import PeriodicTask

from agents.actions.fork_run import Edits
from agents.housekeeping import archive_files
from agents.housekeeping.archive_runs import archive_workspace, directory
from agents.housekeeping.erase_person import erase_runs_everywhere
from agents.models import Agent, Delivery, Message, MessageKind, Run
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from heartbit_site.embedded.state import StateDirectory
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author
from memory.models import MemoryItem
from memory.place import MemoryPlace
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.actions.save_schedule import save_schedule
from scheduling.models import Schedule
from tests.admin.rows import Held, answer
from tests.operation.test_archive import actor, age, finished, read
from tests.runtime.extraction import person
from tests.starts import fork_run
from tools.actions.credentials import save_credential
from tools.models import Credential

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from django.contrib.auth.models import User

MAILBOX = {"host": "mail.example", "username": "x", "password": "y"}


@pytest.fixture
def workspace(workspace: Workspace, tmp_path: Path, settings: Any) -> Workspace:
    """The test's own, whose runs no worker takes."""
    settings.HEARTBIT_ARCHIVE_DIR = str(tmp_path / "archive")
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    return workspace


def planned_in(run_id: UUID, workspace: Workspace) -> tuple[Schedule, UUID]:
    """A plan that an agent made in a run, and a run that it started."""
    schedule = Schedule(
        workspace=workspace,
        agent=Agent.objects.get(workspace=workspace, name="writer"),
        name=f"writer: {run_id}",
        task="Remind them.",
        cron="0 9 * * MON",
        created_by_run_id=run_id,
    )
    save_schedule(schedule, by=SYSTEM)
    started = run_schedule_now(schedule, by=SYSTEM)
    done = Held(started)
    done.record(answer(1, "Done."))
    done.finish("Done.")
    return schedule, started


def remembered_in(run_id: UUID, workspace: Workspace, **place: Any) -> MemoryItem:
    where = MemoryPlace(workspace.pk, **{"scope": Scope.AGENT, "agent": "writer", **place})
    return remember(where, f"They live in {run_id}.", by=Author(SYSTEM, run_id=run_id))


def mailbox_of(user: User | None, workspace: Workspace) -> Credential:
    row = Credential(workspace=workspace, user=user, name="mail", kind="imap")
    save_credential(row, MAILBOX, by=SYSTEM)
    return row


def test_what_a_run_planned_remembered_and_used_goes_with_it(workspace: Workspace) -> None:
    ann, bob = person(), person("bob")
    hers, his = finished(workspace, by=actor(ann)), finished(workspace, by=actor(bob))
    schedule, started = planned_in(hers, workspace)
    again, later = planned_in(started, workspace)
    others, kept = planned_in(his, workspace)
    for run in (hers, started, later):
        remembered_in(run, workspace)
    remembered_in(hers, workspace, scope=Scope.WORKSPACE, agent="")
    staying = [remembered_in(kept, workspace), remembered_in(hers, workspace, **of(bob))]
    for owner in (ann, bob, None):
        mailbox_of(owner, workspace)

    assert erase_runs_everywhere(workspace, ann, agent="", by=SYSTEM) == 3

    assert set(Run.objects.filter(workspace=workspace).values_list("pk", flat=True)) == {his, kept}
    assert list(Schedule.objects.filter(workspace=workspace)) == [others]
    mirrors = PeriodicTask.objects.filter(name__startswith="heartbit-schedule-")
    names = set(mirrors.values_list("name", flat=True))
    assert f"heartbit-schedule-{others.pk}" in names
    assert not names & {f"heartbit-schedule-{one.pk}" for one in (schedule, again)}
    assert set(MemoryItem.objects.filter(workspace=workspace)) == set(staying)
    left = Credential.objects.filter(workspace=workspace).values_list("user__username", flat=True)
    assert set(left) == {bob.username, None}


def of(user: User) -> dict[str, Any]:
    return {"scope": Scope.PERSON, "user_id": user.pk}


def test_with_one_agents_runs_no_credential_goes(workspace: Workspace) -> None:
    ann = person()
    finished(workspace, by=actor(ann))
    mailbox_of(ann, workspace)
    assert erase_runs_everywhere(workspace, ann, agent="writer", by=SYSTEM) == 1
    assert Credential.objects.filter(workspace=workspace).exists()


def test_what_came_of_archived_runs_goes_with_them(workspace: Workspace) -> None:
    ann, bob = person(), person("bob")
    source = finished(workspace, by=actor(ann))
    schedule, started = planned_in(source, workspace)
    message = Message.objects.create(
        workspace=workspace, sender="agent:writer", recipient="agent:writer", seq=1,
        kind=MessageKind.NOTIFICATION, thread=str(source), source_run_id=source, body="x",
    )  # fmt: skip
    Delivery.objects.create(workspace=workspace, run_id=source, position=0, kind="email", target={})
    fork = forked(source, bob)
    forks_fork = forked(fork, bob)
    for run in (source, forks_fork):
        age(workspace, 100, run)
    assert archive_workspace(workspace).runs == 2
    assert set(ids(workspace)) == {fork, started}

    assert erase_runs_everywhere(workspace, ann, agent="", by=SYSTEM) == 4

    assert ids(workspace) == []
    assert not Schedule.objects.filter(pk=schedule.pk).exists()
    assert not Message.objects.filter(pk=message.pk).exists()
    assert not Delivery.objects.filter(workspace=workspace).exists()
    assert read(tuple(archive_files.files_of(directory(), workspace.slug))) == []


def forked(source: UUID, by: User) -> UUID:
    run = fork_run(Run.objects.get(pk=source), 1, edits=Edits(message="Go on."), by=actor(by))
    held = Held(run)
    held.record(answer(2, "Done."))
    held.finish("Done.")
    return run


def ids(workspace: Workspace) -> list[UUID]:
    return list(Run.objects.filter(workspace=workspace).values_list("pk", flat=True))


def test_the_database_s_log_repeats_nothing_that_was_refused(database: None) -> None:
    canary = f"canary{secrets.token_hex(6)}"
    with pytest.raises(DatabaseError, match=canary), connection.cursor() as cursor:
        cursor.execute("SELECT no_such_function(%s)", [f"{canary}"])
    Workspace.objects.create(slug=canary)
    with pytest.raises(DatabaseError, match=canary), transaction.atomic():
        Workspace.objects.create(slug=canary)
    log = StateDirectory().log("postgres").read_text()
    assert "no_such_function" in log
    assert "unique constraint" in log
    assert canary not in log
