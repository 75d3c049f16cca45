"""Knowledge bases and documents in the admin, and the page of a passage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from memory.actions.bases import save_base
from memory.actions.documents import save_document
from memory.actions.ingest_documents import ingest_documents
from memory.models import Document, KnowledgeBase, MemoryPolicy, Passage
from tests.admin.forms import filled, filled_undrawn
from tests.memory.knowledge import documents

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db

DOCUMENTS = "/admin/memory/document/"
BASES = "/admin/memory/knowledgebase/"


@pytest.fixture
def base(db: None) -> KnowledgeBase:
    workspace = Workspace.objects.create(slug="bare-of-tests", name="Bare")
    return save_base(workspace, "handbook", description="Rules", by=SYSTEM)[0]


def page(row: KnowledgeBase | Document | MemoryPolicy, what: str = "change") -> str:
    return reverse(f"admin:memory_{row._meta.model_name}_{what}", args=[row.pk])


def upload(browser: Client, url: str, name: str, data: bytes, **more: object) -> str:
    form = filled_undrawn(browser, url) | more | {"file": SimpleUploadedFile(name, data)}
    return browser.post(url, form, follow=True).content.decode()


def test_a_document_is_uploaded_replaced_described_and_deleted(
    browser: Client, base: KnowledgeBase
) -> None:
    said = upload(browser, f"{DOCUMENTS}add/", "a.pdf", documents.pdf_handbook(), base=base.pk)
    assert "a.pdf is stored; a worker will read it." in said
    ingest_documents(goes_on=lambda: True)
    row = Document.objects.get(base=base)
    assert (row.state, row.pages, row.source) == ("ready", 3, "")
    shown = browser.get(page(row)).content.decode()
    passage = row.passages.get(position=1)
    assert f'href="/w/bare-of-tests/passages/{passage.pk}/"' in shown
    assert "Trains are booked in second class." in shown
    form = filled_undrawn(browser, page(row)) | {"source": "https://wiki.example/"}
    assert "has this content already" in browser.post(page(row), form, follow=True).content.decode()
    row.refresh_from_db()
    assert (row.source, row.passage_count) == ("https://wiki.example/", 3)
    said = upload(browser, page(row), "other name.md", b"# New\n\nText.")
    assert "a.pdf has new content; a worker will read it." in said
    row.refresh_from_db()
    assert (row.name, row.kind, row.state, row.passage_count) == ("a.pdf", "markdown", "queued", 0)
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    browser.post(DOCUMENTS, chosen)
    assert not base.documents.exists()


def test_what_cannot_be_stored_is_said_at_its_field(browser: Client, base: KnowledgeBase) -> None:
    said = upload(browser, f"{DOCUMENTS}add/", "a.png", b"\x89PNG\0", base=base.pk)
    assert "a.png is not a readable document" in said
    form = filled_undrawn(browser, f"{BASES}add/") | {"workspace": base.workspace_id, "name": "No!"}
    assert "is not valid" in browser.post(f"{BASES}add/", form).content.decode()
    assert KnowledgeBase.objects.filter(workspace=base.workspace).count() == 1
    assert not base.documents.exists()


def test_saving_an_untouched_page_tries_again_what_failed(
    browser: Client, base: KnowledgeBase
) -> None:
    row, _ = save_document(base, "a.md", b"One.", by=SYSTEM)
    Document.objects.filter(pk=row.pk).update(state="failed", problem="It took too long.")
    browser.post(page(row), filled(browser.get(page(row))))
    row.refresh_from_db()
    assert (row.state, row.problem) == ("queued", "")
    policy = MemoryPolicy.objects.create(workspace=base.workspace, problem="It does not answer.")
    browser.post(page(policy), filled(browser.get(page(policy))))
    policy.refresh_from_db()
    assert policy.problem == ""


def test_a_base_follows_a_folder_and_is_refreshed(browser: Client, base: KnowledgeBase) -> None:
    form = filled_undrawn(browser, page(base)) | {"drive_folder": "rules/"}
    browser.post(page(base), form)
    base.refresh_from_db()
    assert base.drive_folder == "rules"
    assert "Its files are being imported." in browser.get(page(base)).content.decode()
    KnowledgeBase.objects.filter(pk=base.pk).update(drive_requested_at=None)
    browser.post(page(base, "refresh"), {"_form_submitted": "True"})
    base.refresh_from_db()
    assert base.drive_requested_at is not None
    refused = browser.post(page(base), form | {"drive_folder": "../x"})
    assert list(refused.context["adminform"].errors) == ["drive_folder"]


def test_a_base_is_deleted_with_all_that_is_in_it(browser: Client, base: KnowledgeBase) -> None:
    save_document(base, "a.md", b"One.", by=SYSTEM)
    ingest_documents(goes_on=lambda: True)
    assert "1" in browser.get(page(base, "delete")).content.decode()
    browser.post(page(base, "delete"), {"post": "yes"})
    assert not Document.objects.filter(base=base.pk).exists()
    assert not Passage.objects.filter(base=base.pk).exists()


def test_a_passage_is_shown_between_its_neighbours_and_harmlessly(
    browser: Client, base: KnowledgeBase
) -> None:
    text = "# Top\n\n## One\n\nFirst.\n\n## Two\n\n<script>alert(1)</script>\n\n## Three\n\nThird."
    row, _ = save_document(base, "a.md", text.encode(), by=SYSTEM)
    ingest_documents(goes_on=lambda: True)
    cited = row.passages.get(position=1)
    answer = browser.get(cited.path)
    shown = answer.content.decode()
    assert answer.status_code == 200
    assert "First." in shown
    assert "Third." in shown
    assert "Top › Two" in shown  # noqa: RUF001  as it is drawn
    assert "&lt;script&gt;alert(1)" in shown
    save_document(base, "a.md", b"Another.", by=SYSTEM)
    gone = browser.get(cited.path)
    assert gone.status_code == 404
    assert "This passage is gone" in gone.content.decode()
