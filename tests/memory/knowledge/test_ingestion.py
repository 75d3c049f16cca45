"""Documents are read part by part: once each, resumably, and not after they were changed."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.utils import timezone

from heartbit_site.base import reader_process
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, Workspace
from memory.actions import ingest_documents as ingesting
from memory.actions.bases import remove_base, save_base
from memory.actions.documents import remove_document, save_document
from memory.actions.ingest_documents import ingest_documents
from memory.actions.policy import embed_memories, save_policy
from memory.choices import DocumentState
from memory.errors import InvalidKnowledgeError, UnreadableDocumentError
from memory.knowledge import reader
from memory.knowledge.reader import DocumentPart, read_part
from memory.knowledge.readers import pdf as pdf_reader
from memory.models import Document, DocumentContent, KnowledgeBase, Passage, PassageEmbedding
from tests.memory.knowledge import documents

if TYPE_CHECKING:
    from heartbit_site.base.errors import HeartbitError

pytestmark = pytest.mark.django_db


@pytest.fixture
def base(db: None) -> KnowledgeBase:
    """A base whose documents alone wait: what other tests left is set aside for the test."""
    Document.objects.claimable().update(state=DocumentState.FAILED)
    Document.objects.claimed().update(state=DocumentState.FAILED)
    here = Workspace.objects.create(slug="knowledge-here", name="Here")
    return save_base(here, "handbook", description="", by=SYSTEM)[0]


def read_all() -> int:
    return ingest_documents(goes_on=lambda: True)


def _kept() -> tuple[int, int]:
    """Numbers of all vectors and contents, those that other tests left included."""
    return PassageEmbedding.objects.count(), DocumentContent.objects.count()


def texts(base: KnowledgeBase) -> list[str]:
    return list(Passage.objects.filter(base=base).order_by("pk").values_list("text", flat=True))


def test_the_same_content_is_read_once_and_another_replaces_it(base: KnowledgeBase) -> None:
    row, outcome = save_document(base, "a.md", b"# One\n\nFirst.", by=SYSTEM, source="https://x/")
    assert (outcome, row.state) == ("added", "queued")
    assert read_all() == 1
    row.refresh_from_db()
    assert (row.state, row.passage_count, row.language) == ("ready", 1, "english")
    assert save_document(base, "a.md", b"# One\n\nFirst.", by=SYSTEM)[1] == "unchanged"
    assert read_all() == 0
    again, outcome = save_document(base, "a.md", b"# Two\n\nSecond.", by=SYSTEM)
    assert (again.pk, outcome, again.source) == (row.pk, "replaced", "https://x/")
    assert texts(base) == []
    read_all()
    assert texts(base) == ["Second."]
    actions = AuditEntry.objects.filter(workspace=base.workspace).values_list("action", flat=True)
    assert sorted(actions) == ["document.save", "document.save", "knowledge.add"]


def test_the_same_content_changes_its_source_alone_which_is_audited_once(
    base: KnowledgeBase,
) -> None:
    row, _ = save_document(base, "a.md", b"One.", by=SYSTEM, source="https://x/")
    for source in ("https://x/", "https://y/", "https://y/", ""):
        same = save_document(base, "a.md", b"One.", by=SYSTEM, source=source)
        assert same == (row, "unchanged")
    row.refresh_from_db()
    assert row.source == "https://y/"
    changes = AuditEntry.objects.filter(workspace=base.workspace, action="document.change")
    assert changes.count() == 1


def test_a_long_document_is_read_in_parts_with_progress(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 2 * pdf_reader.MOST_OF_PART + 10
    data = documents.pdf([f"Token{number} of the page." for number in range(count)])
    save_document(base, "long.pdf", data, by=SYSTEM)
    seen = []
    while ingest_documents(goes_on=_times(1)):
        row = Document.objects.get(base=base)
        seen.append((row.state, row.pages, row.pages_read))
    assert seen[0][:2] == ("reading", count)
    assert seen[-1] == ("ready", count, count)
    assert len(seen) >= 3
    assert texts(base) == [f"Token{number} of the page." for number in range(count)]
    positions = Passage.objects.filter(base=base).order_by("pk").values_list("position", "page")
    assert list(positions) == [(number, number + 1) for number in range(count)]


def test_a_document_says_what_of_it_was_guessed_or_left_out(
    base: KnowledgeBase,
) -> None:
    damaged = documents.pdf(["First.", b"(x) Tj ]", "Third."])
    save_document(base, "some.pdf", damaged, by=SYSTEM)
    save_document(base, "none.pdf", documents.pdf([b"(x) Tj ]"]), by=SYSTEM)
    save_document(base, "latin.txt", "Größe".encode("cp1252"), by=SYSTEM)
    read_all()
    rows = Document.objects.filter(base=base).values_list("name", "state", "problem")
    page = "is damaged: some of its text is left out."
    assert sorted(rows) == [
        (
            *("latin.txt", "ready"),
            "No encoding is named: read as Windows-1252 (Western European), which is a guess; "
            "save it as UTF-8 to be sure.",
        ),
        ("none.pdf", "failed", f"none.pdf has no readable text: Page 1 {page}"),
        ("some.pdf", "ready", f"Page 2 {page}"),
    ]
    save_document(base, "some.pdf", documents.pdf(["Whole."]), by=SYSTEM)
    assert Document.objects.get(base=base, name="some.pdf").problem == ""


def test_what_was_left_out_of_many_parts_is_said_as_far_as_it_fits(
    base: KnowledgeBase,
) -> None:
    row, _ = save_document(base, "a.pdf", documents.pdf(["One."]), by=SYSTEM)
    row.state = DocumentState.READING
    row.save()
    for number in range(1, 31):
        part = DocumentPart([], 40, number, f"Page {number} is damaged.")
        assert reader.store_part(row, part)
    row.refresh_from_db()
    assert row.problem.startswith("Page 1 is damaged. Page 2 is damaged.")
    assert (len(row.problem), row.problem[-1]) == (500, "…")


def _times(count: int):  # type: ignore[no-untyped-def]
    left = iter(range(count))
    return lambda: next(left, None) is not None


def test_a_part_of_a_worker_that_lost_its_claim_is_not_stored(base: KnowledgeBase) -> None:
    row, _ = save_document(base, "a.md", b"One.", by=SYSTEM)
    slow = ingesting._claim_one()
    assert slow is not None
    assert ingesting._claim_one() is None  # it is being read
    part = read_part("a.md", "markdown", b"One.", pages_read=0)
    Document.objects.filter(pk=row.pk).update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert read_all() == 1
    assert not reader.store_part(slow, part)
    assert texts(base) == ["One."]
    # Nor is one of a content that was replaced meanwhile, or of a document that was deleted.
    save_document(base, "a.md", b"Two.", by=SYSTEM)
    slow = ingesting._claim_one()
    assert slow is not None
    save_document(base, "a.md", b"Three.", by=SYSTEM)
    assert not reader.store_part(slow, DocumentPart(part.passages, None, 0))
    ingesting._fail(slow, "The former content cannot be read.")
    row.refresh_from_db()
    assert (row.state, row.problem) == ("queued", "")
    slow = ingesting._claim_one()
    assert slow is not None
    remove_document(row, by=SYSTEM)
    assert not reader.store_part(slow, DocumentPart(part.passages, None, 0))
    assert texts(base) == []


def test_no_more_parts_are_read_at_once_than_the_limit(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "MOST_AT_ONCE", Document.objects.claimed().count() + 1)
    for name in ("a.md", "b.md"):
        save_document(base, name, b"One.", by=SYSTEM)
    assert ingesting._claim_one() is not None
    assert ingesting._claim_one() is None
    assert read_all() == 0


def test_a_document_waits_while_all_readers_of_the_process_are_busy(
    base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, _ = save_document(base, "a.md", b"One.", by=SYSTEM)
    with monkeypatch.context() as held:
        held.setattr(reader_process, "_slots", threading.BoundedSemaphore(1))
        held.setattr(reader_process.read, "__kwdefaults__", {"patience": 0.1})
        with reader_process._slots:
            assert [read_all() for _ in range(4)] == [0] * 4, "no attempt counts"
    assert read_all() == 1
    row.refresh_from_db()
    assert (row.state, row.attempts) == ("ready", 0)


def test_what_cannot_be_read_says_why_and_is_read_again_when_it_is_uploaded_again(
    base: KnowledgeBase,
) -> None:
    row, _ = save_document(base, "scan.pdf", documents.pdf(["", ""]), by=SYSTEM)
    bad, _ = save_document(base, "bad.pdf", b"%PDF-1.4 nothing", by=SYSTEM)
    poison, _ = save_document(base, "poison.md", b"One.", by=SYSTEM)
    Document.objects.filter(pk=poison.pk).update(attempts=ingesting.MOST_ATTEMPTS)
    read_all()
    for each in (row, bad, poison):
        each.refresh_from_db()
    assert row.problem == "scan.pdf has no text: run OCR on a scan before you upload it."
    assert bad.problem == "bad.pdf is not a PDF file, or is damaged."
    assert "each time the worker stopped" in poison.problem
    assert {row.state, bad.state, poison.state} == {DocumentState.FAILED}
    assert texts(base) == []
    again, outcome = save_document(base, "poison.md", b"One.", by=SYSTEM)
    assert (outcome, again.state) == ("unchanged", "queued")
    read_all()
    assert texts(base) == ["One."]


@pytest.mark.parametrize(
    ("name", "data", "kind", "error", "field"),
    [
        ("", b"x", "", InvalidKnowledgeError, "name"),
        ("a\nb", b"x", "", InvalidKnowledgeError, "name"),
        ("a.md", b"", "", InvalidKnowledgeError, "content"),
        ("a.md", b"x" * 10_000_001, "", InvalidKnowledgeError, "content"),
        ("a.png", b"\x89PNG\0", "", UnreadableDocumentError, "content"),
        ("a.md", b"x", "pdf", UnreadableDocumentError, "content"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_field(
    base: KnowledgeBase, name: str, data: bytes, kind: str, error: type[HeartbitError], field: str
) -> None:
    with pytest.raises(error) as refused:
        save_document(base, name, data, by=SYSTEM, kind=kind)
    assert refused.value.field == field
    assert not base.documents.exists()


def test_a_deleted_document_or_base_leaves_no_text_and_no_vector(base: KnowledgeBase) -> None:
    canary = "Canary sings in the mine."
    before = _kept()
    other, _ = save_base(base.workspace, "other", description="", by=SYSTEM)
    for where in (base, other):
        for name in ("a.md", "b.md"):
            save_document(where, name, f"{canary} {where.name} {name}".encode(), by=SYSTEM)
    save_policy(base.workspace, by=SYSTEM, embedding_model="local", kept_days=None)
    read_all()
    assert embed_memories(goes_on=lambda: True) == 4
    remove_document(base.documents.get(name="a.md"), by=SYSTEM)
    assert len(texts(base)) == 1
    assert remove_base(base, by=SYSTEM) == 1
    assert remove_base(other, by=SYSTEM) == 2
    assert _kept() == before
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memory_passage WHERE text LIKE 'Canary%'")
        assert cursor.fetchone() == (0,)
    entries = AuditEntry.objects.filter(workspace=base.workspace, action="knowledge.remove")
    assert canary not in str(list(entries.values()))
