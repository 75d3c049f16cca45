"""A base that follows a folder of the drive: what is new, changed or gone is taken up once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import AuditEntry, Workspace
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.follow_folders import EVERY, follow_folder, follow_folders, request_folder
from memory.actions.ingest_documents import ingest_documents
from memory.models import Document, KnowledgeBase, Passage

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db


@pytest.fixture
def base(db: None, settings: Settings, tmp_path: Path) -> KnowledgeBase:
    """An empty base, of a workspace whose drive is a folder of the test.

    Whoever follows takes up the bases of all workspaces: until the test's transaction is rolled
    back, those that other tests have committed follow nothing.
    """
    settings.HEARTBIT_DRIVE_DIR = str(tmp_path)
    KnowledgeBase.objects.exclude(drive_folder="").update(drive_folder="")
    workspace = Workspace.objects.create(slug="folders", name="Folders")
    return save_base(workspace, "handbook", description="", by=SYSTEM)[0]


def put(base: KnowledgeBase, root: Path, name: str, text: str) -> Path:
    path = root / str(base.workspace_id) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def taken_up(base: KnowledgeBase) -> dict[str, str]:
    """Take up what is due, and return the texts of the base's documents."""
    follow_folders(goes_on=lambda: True)
    ingest_documents(goes_on=lambda: True)
    base.refresh_from_db()
    rows = Passage.objects.filter(base=base).order_by("document__name", "position")
    return dict(rows.values_list("document__name", "text"))


def test_new_changed_and_deleted_files_are_taken_up_once(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    put(base, tmp_path, "rules/travel.md", "# Travel\n\nSecond class.")
    gone = put(base, tmp_path, "rules/old/tea.txt", "Tea at four.")
    put(base, tmp_path, "secret/pay.md", "Not in this folder.")
    put(base, tmp_path, "rules-too/x.md", "Nor in this one.")
    assert follow_folder(base, "/rules/", by=SYSTEM)
    assert not follow_folder(base, "rules", by=SYSTEM)
    assert base.drive_is_due
    assert taken_up(base) == {"old/tea.txt": "Tea at four.", "travel.md": "Second class."}
    assert (base.drive_is_due, base.drive_problem) == (False, "")
    row = Document.objects.get(base=base, name="travel.md")
    assert (row.source, row.drive_file) == ("drive: rules/travel.md", "rules/travel.md")

    claims = list(Document.objects.filter(base=base).values_list("pk", "claim"))
    assert follow_folders(goes_on=lambda: True) == 0, "nothing is due"
    request_folder(base)
    assert follow_folders(goes_on=lambda: True) == 0, "the same content changes nothing"
    assert list(Document.objects.filter(base=base).values_list("pk", "claim")) == claims

    gone.unlink()
    put(base, tmp_path, "rules/travel.md", "# Travel\n\nFirst class.")
    put(base, tmp_path, "rules/new.md", "New.")
    due = timezone.now() - EVERY - timedelta(seconds=1)
    KnowledgeBase.objects.filter(pk=base.pk).update(drive_checked_at=due)
    assert taken_up(base) == {"new.md": "New.", "travel.md": "First class."}
    removed = AuditEntry.objects.filter(workspace=base.workspace, action="document.remove")
    assert list(removed.values_list("actor", "label")) == [("drive", "old/tea.txt")]


def test_what_cannot_be_taken_up_is_named_and_the_rest_is(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    save_document(base, "own.md", b"Uploaded.", by=SYSTEM)
    put(base, tmp_path, "rules/own.md", "From the drive.")
    put(base, tmp_path, "rules/empty.md", "")
    put(base, tmp_path, "rules/good.md", "Good.")
    (tmp_path / str(base.workspace_id) / "rules/link.txt").symlink_to("/etc/passwd")
    follow_folder(base, "rules", by=SYSTEM)
    assert taken_up(base) == {"good.md": "Good.", "own.md": "Uploaded."}
    assert base.drive_problem == "Left out: 2 files. The first: empty.md is empty."
    for folder in ("../x", "a//b", ".hidden"):
        with pytest.raises(HeartbitError):
            follow_folder(base, folder, by=SYSTEM)


def test_a_folder_that_is_gone_deletes_nothing_and_one_that_is_no_more_followed_neither(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    kept = {"a.md": "A."}
    path = put(base, tmp_path, "rules/a.md", "A.")
    follow_folder(base, "rules", by=SYSTEM)
    assert taken_up(base) == kept
    path.rename(tmp_path / "elsewhere.md")
    request_folder(base)
    assert taken_up(base) == kept
    assert base.drive_problem.startswith("The folder rules is gone or empty.")
    follow_folder(base, "", by=SYSTEM)
    assert taken_up(base) == kept
    assert not Document.objects.exclude(drive_file="").filter(base=base).exists()
    with pytest.raises(HeartbitError, match="handbook follows no folder"):
        request_folder(base)


def test_given_a_worker_that_was_lost_then_another_takes_up_the_rest(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    for number in range(3):
        put(base, tmp_path, f"rules/{number}.md", f"Text {number}.")
    follow_folder(base, "rules", by=SYSTEM)
    looks = iter([True, True, False, False])
    assert follow_folders(goes_on=lambda: next(looks)) == 1
    base.refresh_from_db()
    assert base.drive_is_due
    claimed = timezone.now() + timedelta(minutes=1)
    KnowledgeBase.objects.filter(pk=base.pk).update(drive_claimed_until=claimed)
    assert follow_folders(goes_on=lambda: True) == 0, "another worker is at it"
    KnowledgeBase.objects.filter(pk=base.pk).update(drive_claimed_until=timezone.now())
    assert len(taken_up(base)) == 3
