"""Every column that names a person is in erasure and export, or on a list with the reason."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models import ForeignKey

from agents.actions.person_places import PLACES, Reached, models_of
from agents.actions.publish_agent import publish_agent
from agents.housekeeping import archive_files, erase_person
from agents.housekeeping.archive_runs import archive_workspace, directory
from agents.housekeeping.erase_person import erase_runs_everywhere
from agents.housekeeping.export_person import ARCHIVED, export_person
from agents.journal.events import ToolFinished, ToolStarted
from agents.llm.messages import ToolCall as Asked
from agents.models import Agent, AgentVersion, Artifact, Run, RunEvent, ToolCall
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, SavedView, Workspace
from memory.actions.erase import erase_memories
from memory.models import MemoryItem
from tests.admin.rows import Held, answer
from tests.operation.test_archive import actor, age, finished, read
from tests.operation.test_erased_runs import (
    MAILBOX,
    forked,
    ids,
    mailbox_of,
    of,
    remembered_in,
)
from tests.runtime.extraction import person
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

#: Columns that name a person and are neither erased nor exported, by the reason.
KEPT = {
    # The audit, and rows that say who answers for what: they prove what was done.
    "base.AuditEntry": "user actor",
    "base.UsageEntry": "",
    "agents.Grant": "granted_by user",
    "agents.Vote": "by user voter",
    "agents.Decision": "decided_by user",
    "agents.Pause": "by",
    "scheduling.Schedule": "created_by",
    # The account and what it may do, which an administrator deletes.
    "base.Membership": "user",
    "base.ApiKey": "user",
    "agents.Budget": "person",
    # Of the workspace: its author's account is only linked, and the link goes with the account.
    "agents.Channel": "created_by",
    "agents.ChatApp": "created_by",
    "agents.WebhookEndpoint": "created_by",
    # Until the remote task is cancelled.
    "tools.RemoteAgentTask": "user_id",
}
#: Names of columns for a person, besides links to an account.
NAMES = {"author", "actor", "by", "sender", "voter", "user_id", "recipient"}


@pytest.fixture
def workspace(workspace: Workspace, tmp_path: Path, settings: Any) -> Workspace:
    """The test's own, whose runs no worker takes."""
    settings.HEARTBIT_ARCHIVE_DIR = str(tmp_path / "archive")
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    return workspace


def test_each_column_of_a_person_is_erased_or_kept_for_a_reason(workspace: Workspace) -> None:
    nobody = Reached(workspace, User(pk=1), "", frozenset(), frozenset(), frozenset())
    deleted: set[Any] = set()
    blanked: dict[Any, set[str]] = {}
    for place in PLACES:
        model = place.rows(nobody).model
        if place.blanked:
            blanked.setdefault(model, set()).update(place.blanked)
        else:
            deleted |= models_of(model)
    missing = []
    for app in ("agents", "base", "memory", "scheduling", "tools"):
        for model in apps.get_app_config(app).get_models():
            kept = set(KEPT.get(model._meta.label, "").split())
            names = {field.name for field in model._meta.concrete_fields if _is_of_person(field)}
            covered = blanked.get(model, set()) | kept
            if model not in deleted:
                missing += [f"{model._meta.label}.{name}" for name in sorted(names - covered)]
    assert missing == [], "neither in agents.actions.person_places nor kept for a reason"


def _is_of_person(field: Any) -> bool:
    if isinstance(field, ForeignKey):
        return field.related_model is User
    return field.name in NAMES or field.name.endswith("_by")


def exported(workspace: Workspace, user: User) -> dict[str, list[dict[str, Any]]]:
    file = io.BytesIO()
    export_person(workspace, user, file, by=SYSTEM)
    with zipfile.ZipFile(file) as packed:
        return {
            name: [json.loads(line) for line in packed.read(name).splitlines()]
            for name in packed.namelist()
        }


def test_an_export_has_what_erasure_deletes(workspace: Workspace) -> None:
    ann, bob = person(), person("bob")
    old, hers, his = (finished(workspace, by=actor(one)) for one in (ann, ann, bob))
    age(workspace, 100, old)
    archive_workspace(workspace)
    fork = forked(hers, bob)
    mine = remembered_in(hers, workspace, **of(ann))
    agents, others = remembered_in(hers, workspace), remembered_in(his, workspace)
    mailbox_of(ann, workspace)
    SavedView.objects.create(workspace=workspace, user=ann, name="mine", query="q=x")
    Artifact.objects.create(
        run_id=hers, name="long", content_type="text/plain", content=b"x", size=1, sha256="0"
    )

    found = exported(workspace, ann)

    assert {row["id"] for row in found["agents_run.jsonl"]} == {str(hers), str(fork)}
    assert {row["run_id"] for row in found["agents_runevent.jsonl"]} == {str(hers), str(fork)}
    assert {row["id"] for row in found["memory_memoryitem.jsonl"]} == {mine.pk, agents.pk}
    assert {row["item_id"] for row in found["memory_memorychange.jsonl"]} == {mine.pk, agents.pk}
    assert [row["content"] for row in found["agents_artifact.jsonl"]] == ["eA=="]
    assert [row["name"] for row in found["base_savedview.jsonl"]] == ["mine"]
    assert [line["run"]["id"] for line in found[ARCHIVED]] == [str(old)]
    (credential,) = found["tools_credential.jsonl"]
    assert "secret" not in credential
    assert MAILBOX["password"] not in json.dumps(credential).split('"')
    entry = AuditEntry.objects.get(workspace=workspace, action="person.export")
    assert entry.target == f"user:{ann.pk}"

    assert erase_runs_everywhere(workspace, ann, agent="", by=SYSTEM) == 3
    erase_memories(workspace, ann, by=SYSTEM)
    assert exported(workspace, ann) == {}
    assert ids(workspace) == [his]
    assert list(MemoryItem.objects.filter(workspace=workspace)) == [others]


def test_no_version_names_an_erased_author(workspace: Workspace) -> None:
    ann = person()
    row = Agent.objects.get(workspace=workspace, name="writer")
    row.system_prompt = "Write well."
    row.save()
    publish_agent(row, by=actor(ann))
    published = AgentVersion.objects.filter(agent=row, published_by=ann.username)
    assert published.exists()
    erase_runs_everywhere(workspace, ann, agent="", by=SYSTEM)
    assert not published.exists()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        AgentVersion.objects.filter(agent=row).update(note="x")


def test_a_repeated_erasure_finds_what_came_of_archived_runs(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = person(), person("bob")
    source = finished(workspace, by=actor(ann))
    fork = forked(source, bob)
    age(workspace, 100, source)
    archive_workspace(workspace)
    with monkeypatch.context() as broken:
        broken.setattr(erase_person, "erase_runs", _refuse)
        with pytest.raises(DatabaseError):
            erase_runs_everywhere(workspace, ann, agent="", by=SYSTEM)
    assert read(tuple(archive_files.files_of(directory(), workspace.slug))) == []
    assert ids(workspace) == [fork]
    erase_runs_everywhere(workspace, ann, agent="", by=SYSTEM)
    assert ids(workspace) == []
    assert not list(directory().glob("erasing.*"))


def _refuse(*given: Any, **more: Any) -> int:
    raise DatabaseError("The database is restarting.")


def _remembered(workspace: Workspace, by: User, canary: str) -> UUID:
    """An ended run that stored and recalled a text of the person, with a recall's artifact."""
    run_id = start_run(workspace, "x", agent="writer", model="openai:fake", by=actor(by))
    held = Held(run_id)
    told = json.dumps({"text": f"Lives in {canary}."})
    found = json.dumps({"memories": [{"scope": "person", "text": canary}]})
    held.record(answer(1, "", Asked("x", "remember", told), Asked("y", "recall", "{}")))
    for number, result in enumerate(("Remembered.", found)):
        held.record(ToolStarted(f"1.{number}", "pure"))
        held.record(ToolFinished(f"1.{number}", "ok", result, "pure", 5))
    held.record(answer(2, "Done."))
    held.finish("Done.")
    Artifact.objects.create(
        run_id=run_id, name=f"recall-{canary}", content_type="text/plain", content=b"x", size=1,
        sha256="0",
    )  # fmt: skip
    return run_id


def test_an_erasure_of_memories_erases_what_tools_said(workspace: Workspace) -> None:
    ann, bob, canary = person(), person("bob"), f"canary{uuid4().hex}"
    runs = [_remembered(workspace, who, canary) for who in (ann, ann, bob)]
    age(workspace, 100, runs[0])
    archive_workspace(workspace)
    archived = tuple(archive_files.files_of(directory(), workspace.slug))
    assert canary in json.dumps(read(archived))

    erase_memories(workspace, ann, by=SYSTEM)

    assert canary not in json.dumps(read(archived))
    assert len(read(archived)) == 1, "the run stays, without the artifact of its recall"
    assert not _says(runs[1], canary)
    assert _says(runs[2], canary), "another person's"
    assert Run.objects.filter(pk=runs[1]).exists()
    copy = forked(runs[1], ann)
    assert not _says(copy, canary)


def _says(run_id: UUID, canary: str) -> bool:
    rows = [
        *RunEvent.objects.filter(run=run_id).values_list("payload", flat=True),
        *ToolCall.objects.filter(run=run_id).values_list("arguments", "result", "approval_view"),
        *Artifact.objects.filter(run=run_id).values_list("name", flat=True),
    ]
    return canary in json.dumps(rows)
