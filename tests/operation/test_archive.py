"""Retention: what is over goes into a file, and only then out of the database."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from agents.actions.fork_run import Edits
from agents.actions.publish_agent import publish_agent
from agents.actions.receive_message import accept_message
from agents.actions.run_request import start_conversation
from agents.housekeeping import archive_files as archive
from agents.housekeeping import archive_runs
from agents.housekeeping.archive_runs import (
    archive_workspace,
    archive_workspaces,
    count_archivable,
    limit_of,
)
from agents.housekeeping.erase_person import erase_runs_everywhere
from agents.housekeeping.run_housekeeping import run_housekeeping
from agents.inbound.messages import Inbound
from agents.models import Agent, Conversation, Delivery, Run
from agents.runs import archive as rows
from heartbit_site.base.audit import NOBODY, Actor
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import UsageEntry, Workspace
from tests.admin.rows import Held, answer, tree
from tests.inbound.posts import channel_of
from tests.runtime.extraction import person
from tests.starts import fork_run, post_message, start_run

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import User

    from tests.command import Command

ME = Actor("me", "web")


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    """The test's own, whose runs no worker takes."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    return workspace


@pytest.fixture
def directory(tmp_path: Path, settings: Any) -> Path:
    path = tmp_path / "archive"
    settings.HEARTBIT_ARCHIVE_DIR = str(path)
    return path


def age(workspace: Workspace, days: int, *roots: UUID) -> None:
    """As if these trees had happened so long ago."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agents_run SET created_at = created_at - make_interval(days => %s),"
            " finished_at = finished_at - make_interval(days => %s)"
            " WHERE workspace_id = %s AND root_id = ANY (%s)",
            [days, days, workspace.pk, list(roots)],
        )


def finished(
    workspace: Workspace, task: str = "x", agent: str = "writer", by: Actor = NOBODY
) -> UUID:
    run_id = start_run(workspace, task, agent=agent, model="openai:fake", by=by)
    held = Held(run_id)
    held.record(answer(1, "Done."))
    held.finish("Done.")
    return run_id


def actor(person: User) -> Actor:
    return Actor(person.username, "user", person.pk)


def read(files: tuple[Path, ...]) -> list[dict[str, Any]]:
    found = []
    for path in files:
        with gzip.open(path, "rt") as lines:
            found += [json.loads(line) for line in lines]
    return found


def left(workspace: Workspace) -> set[UUID]:
    return set(Run.objects.filter(workspace=workspace).values_list("pk", flat=True))


def test_old_trees_go_whole_and_the_ledger_stays(workspace: Workspace, directory: Path) -> None:
    root, child = tree(workspace)
    young, live = finished(workspace), start_run(workspace, "x", agent="writer")
    age(workspace, 91, root.pk, live)
    events = {run.pk: [event.type for event in run.events.order_by("seq")] for run in (root, child)}
    entries = UsageEntry.objects.filter(workspace=workspace).count()
    assert count_archivable(workspace).runs == 2
    done = archive_workspace(workspace)
    assert (done.runs, done.kept, len(done.files)) == (2, 0, 1)
    assert left(workspace) == {young, live}
    assert UsageEntry.objects.filter(workspace=workspace).count() == entries > 0
    assert done.files[0].stat().st_mode & 0o777 == 0o600
    first, second = read(done.files)
    assert (first["run"]["id"], second["run"]["id"]) == (str(root.pk), str(child.pk))
    for line, run in ((first, root), (second, child)):
        assert (line["format"], line["type"]) == (1, "run")
        assert [event["type"] for event in line["events"]] == events[run.pk]
        assert line["version"]["hash"] == run.version.hash
        assert len(line["calls"]) == 1
    assert first["waits"][0]["kind"] == "child"
    assert first["blackboard"][0]["key"] == "agent:researcher"
    assert archive_workspace(workspace).files == (), "nothing is left to do"


def test_a_conversation_ages_as_a_whole(workspace: Workspace, directory: Path) -> None:
    thread = start_conversation(workspace, agent="writer", title="About tea")
    empty = start_conversation(workspace, agent="writer")
    first = post_message(thread, "Tea?", by=ME).run_id
    Held(first).finish("Yes.")
    second = post_message(thread, "Green?", by=ME).run_id
    Held(second).finish("Yes.")
    age(workspace, 100, first)
    old = timezone.now() - timedelta(days=100)
    Conversation.objects.filter(pk__in=[thread.pk, empty.pk]).update(created_at=old)
    done = archive_workspace(workspace)
    assert (done.runs, done.conversations) == (0, 1), "only the one nobody ever wrote to"
    assert left(workspace) == {first, second}
    age(workspace, 100, second)
    done = archive_workspace(workspace)
    assert (done.runs, done.conversations) == (2, 1)
    head, *runs = read(done.files)
    assert (head["type"], head["conversation"]["title"]) == ("conversation", "About tea")
    assert [line["run"]["task"] for line in runs] == ["Tea?", "Green?"]
    assert not Conversation.objects.filter(workspace=workspace).exists()


def test_a_conversation_goes_although_the_log_of_what_came_in_names_it(
    workspace: Workspace, directory: Path
) -> None:
    channel, _ = channel_of(workspace)
    taken = accept_message(channel, Inbound(external_id="msg_1", text="Tea?"))
    assert taken.run_id is not None
    assert taken.conversation_id is not None
    Held(taken.run_id).finish("Yes.")
    age(workspace, 100, taken.run_id)
    old = timezone.now() - timedelta(days=100)
    Conversation.objects.filter(pk=taken.conversation_id).update(created_at=old)
    done = archive_workspace(workspace)
    assert (done.runs, done.conversations) == (1, 1)
    again = accept_message(channel, Inbound(external_id="msg_1", text="Tea?"))
    assert again == replace(taken, is_duplicate=True), "it is not taken twice for that"


def test_what_moved_since_it_was_archived_is_not_deleted(
    workspace: Workspace, directory: Path
) -> None:
    thread = start_conversation(workspace, agent="writer")
    run = post_message(thread, "Tea?", by=ME).run_id
    Held(run).finish("Yes.")
    age(workspace, 100, run)
    Conversation.objects.filter(pk=thread.pk).update(
        created_at=timezone.now() - timedelta(days=100)
    )
    before = limit_of(workspace)
    [unit] = rows.finished_units(workspace, before, conversations=True, limit=10)
    post_message(thread, "One more!", by=ME)
    assert not rows.delete_unit(unit, before)
    assert len(left(workspace)) == 2


def test_deliveries_of_private_runs_go_with_them(workspace: Workspace, directory: Path) -> None:
    owner = person("eve")
    thread = start_conversation(workspace, agent="writer", private_to=owner.pk)
    private, shared = post_message(thread, "Tea?", by=actor(owner)).run_id, finished(workspace)
    Held(private).finish("Yes.")
    age(workspace, 100, private, shared)
    Conversation.objects.filter(pk=thread.pk).update(
        created_at=timezone.now() - timedelta(days=100)
    )
    for run in (private, shared):
        target = {"kind": "artifact", "name": "x"}
        Delivery.objects.create(
            workspace=workspace, run_id=run, position=0, kind="artifact", target=target
        )
    assert archive_workspace(workspace).runs == 2
    left_over = Delivery.objects.filter(workspace=workspace)
    assert [one.run_id for one in left_over] == [shared], "no one is known who may read the other"


def test_a_run_with_a_live_fork_stays(workspace: Workspace, directory: Path) -> None:
    source, fork = finished(workspace), start_run(workspace, "x", agent="writer")
    Run.objects.filter(pk=fork).update(forked_from=source)
    age(workspace, 100, source)
    assert archive_workspace(workspace).runs == 0
    Held(fork).finish("Done.")
    assert archive_workspace(workspace).runs == 1
    assert Run.objects.get(pk=fork).forked_from_id is None


def test_a_person_s_archived_runs_are_erased_with_their_forks_and_conversations(
    workspace: Workspace, directory: Path
) -> None:
    ann, bob = person(), person("bob")
    thread = start_conversation(workspace, agent="writer")
    said = {post_message(thread, "Tea?", by=actor(who)).run_id for who in (ann, bob)}
    for run in sorted(said):
        Held(run).finish("Yes.")
    Conversation.objects.filter(pk=thread.pk).update(
        created_at=timezone.now() - timedelta(days=100)
    )
    source, kept = finished(workspace, by=actor(ann)), finished(workspace, by=actor(bob))
    go_on = Edits(message="Go on.")
    fork = fork_run(Run.objects.get(pk=source), 1, edits=go_on, by=actor(bob))
    Held(fork).finish("Done.")
    age(workspace, 100, source, *said)
    assert archive_workspace(workspace).runs == 3
    age(workspace, 100, fork, kept)
    assert archive_workspace(workspace).runs == 2, "its source is in an earlier file"

    assert erase_runs_everywhere(workspace, ann, agent="", by=ME) == 4
    [line] = read(tuple(archive.files_of(directory, workspace.slug)))
    assert line["run"]["id"] == str(kept)


def test_without_an_archive_nothing_is_deleted(
    workspace: Workspace, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = finished(workspace)
    age(workspace, 100, run)
    directory.write_text("a file is in the way")
    with pytest.raises(archive.ArchiveError, match="HEARTBIT_ARCHIVE_DIR"):
        archive_workspace(workspace)
    run_housekeeping(goes_on=lambda: True)
    assert [one.levelname for one in caplog.records if "archived into" in one.message] == ["ERROR"]
    assert left(workspace) == {run}


def test_housekeeping_counts_what_it_archived(workspace: Workspace, directory: Path) -> None:
    run_housekeeping(goes_on=lambda: True)  # what others left
    age(workspace, 100, finished(workspace))
    assert run_housekeeping(goes_on=lambda: True) == 1


def test_a_crash_between_file_and_deletion_loses_nothing(
    workspace: Workspace, directory: Path
) -> None:
    run = finished(workspace)
    age(workspace, 100, run)
    [unit] = rows.finished_units(workspace, limit_of(workspace), limit=10)
    directory.mkdir()
    archive.write(directory, workspace.slug, rows.lines([unit]))  # and then the power failed
    done = archive_workspace(workspace)
    assert done.runs == 1
    assert left(workspace) == set()
    held = read(tuple(directory.glob("*.jsonl.gz")))
    assert [line["run"]["id"] for line in held] == [str(run)] * 2


def test_a_file_that_could_not_be_finished_is_not_there(directory: Path) -> None:
    def lines() -> Any:
        yield "{}"
        raise OSError(28, "No space left on device")

    directory.mkdir()
    with pytest.raises(archive.ArchiveError, match="No space left"):
        archive.write(directory, "w", lines())
    assert list(directory.iterdir()) == []


def test_policies_are_the_workspaces_own(workspace: Workspace, directory: Path) -> None:
    run = finished(workspace)
    age(workspace, 10, run)
    workspace.retention_days = None
    workspace.save()
    archive_workspaces(goes_on=lambda: True)
    assert left(workspace) == {run}
    with pytest.raises(ConfigurationError, match="for ever"):
        archive_workspace(workspace)
    workspace.retention_days = 9
    workspace.save()
    archive_workspaces(goes_on=lambda: False)
    assert left(workspace) == {run}, "it was time to stop"
    archive_workspaces(goes_on=lambda: True)
    assert left(workspace) == set()


def test_every_table_of_a_run_is_cleared(database: None) -> None:
    """A new table that refers to runs has to be archived, and deleted, with them."""
    sql = (Path(settings.BASE_DIR) / "agents/runs/sql/archive.sql").read_text()
    for relation in Run._meta.related_objects:
        table = relation.related_model._meta.db_table
        assert re.search(rf"FROM {table} WHERE \w+ = ANY \(v_ids\)", sql), f"{table} is left"


def test_the_commands_archive_and_export(heartbit: Command, database: None) -> None:
    workspace = Workspace.objects.get(slug="default")
    agent = Agent.objects.create(
        workspace=workspace, name="exported", system_prompt="x", queue="nobody-serves-this"
    )
    publish_agent(agent)
    run = finished(workspace, "to be exported", "exported")
    exported = heartbit("runs", "export", str(run))
    assert exported.code == 0, exported.err
    assert json.loads(exported.out)["run"]["task"] == "to be exported"
    age(workspace, 4000, run)
    counted = heartbit("runs", "archive", "--older-than", "3999", "--dry-run", "--json")
    assert counted.json == {"runs": 1, "conversations": 0, "kept": 0, "files": []}
    done = heartbit("runs", "archive", "--older-than", "3999", "--json")
    assert done.json["runs"] == 1
    assert [line["run"]["id"] for line in read((Path(done.json["files"][0]),))] == [str(run)]
    assert not Run.objects.filter(pk=run).exists()
    assert heartbit("runs", "archive", "--older-than", "3999").out == "Nothing is old enough.\n"


@pytest.mark.parametrize("limit", ["FILE_RUNS", "FILE_EVENTS"])
def test_a_file_that_is_full_is_followed_by_another(
    workspace: Workspace, directory: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    runs = [finished(workspace) for _ in range(2)]
    age(workspace, 91, *runs)
    monkeypatch.setattr(archive_runs, limit, 1)
    done = archive_workspace(workspace)
    assert [len(read((file,))) for file in done.files] == [1, 1]
