"""Memories in the admin: found with reasons, superseded, forgotten, undone, erased."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import AuditEntry, Workspace
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author, MemoryPlace
from memory.models import MemoryItem
from tests.admin.forms import filled

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db

PAGE = "/admin/memory/memoryitem/"


@pytest.fixture
def item(db: None) -> MemoryItem:
    workspace = Workspace.objects.create(slug="bare-of-tests", name="Bare")
    user = User.objects.create(username="ann-of-tests")
    place = MemoryPlace(workspace.pk, Scope.PERSON, "writer", user.pk)
    return remember(place, "Ann is drinking green tea.", by=Author(SYSTEM))


def change_page(item: MemoryItem) -> str:
    return reverse("admin:memory_memoryitem_change", args=[item.pk])


def press(browser: Client, item: MemoryItem, button: str, **given: str) -> None:
    url = reverse(f"admin:memory_memoryitem_{button}", args=[item.pk])
    assert browser.post(url, {"_form_submitted": "True", **given}).status_code == 200


def test_a_search_shows_the_reasons(browser: Client, item: MemoryItem) -> None:
    found = browser.get(PAGE, {"q": "drink"}).content.decode()
    assert "has drinking; learned " in found
    assert "green tea" not in browser.get(PAGE, {"q": "coffee"}).content.decode()


def test_an_edit_supersedes_and_buttons_forget_and_undo(browser: Client, item: MemoryItem) -> None:
    form = filled(browser.get(change_page(item)))
    form |= {"text": "Ann drinks coffee.", "reason": "since May"}
    assert browser.post(change_page(item), form).status_code == 302
    item.refresh_from_db()
    assert (item.text, item.changes.count()) == ("Ann drinks coffee.", 2)
    page = browser.get(change_page(item)).content.decode()
    assert "since May" in page
    assert "Ann is drinking green tea." in page
    press(browser, item, "forget_now")
    assert not MemoryItem.objects.live().filter(pk=item.pk).exists()
    press(browser, item, "undo_change")
    press(browser, item, "undo_change")
    item.refresh_from_db()
    assert (item.text, item.forgotten_at) == ("Ann is drinking green tea.", None)


def test_one_is_added_and_an_incomplete_one_is_refused(browser: Client, item: MemoryItem) -> None:
    form = filled(browser.get(f"{PAGE}add/"))
    form |= {"workspace": item.workspace_id, "text": "We sell tea.", "scope": "agent"}
    refused = browser.post(f"{PAGE}add/", form)
    assert "A memory of the scope agent needs an agent." in refused.content.decode()
    assert browser.post(f"{PAGE}add/", form | {"agent": "writer"}).status_code == 302
    assert MemoryItem.objects.get(text="We sell tea.").scope == "agent"


def test_a_person_is_erased(browser: Client, item: MemoryItem) -> None:
    press(browser, item, "erase")
    assert not MemoryItem.objects.filter(user=item.user).exists()
    entries = AuditEntry.objects.filter(workspace=item.workspace, target=f"user:{item.user_id}")
    assert set(entries.values_list("action", flat=True)) == {"memory.erase"}


def test_a_person_is_erased_with_all_runs(browser: Client, item: MemoryItem) -> None:
    press(browser, item, "erase", runs="on")
    assert not MemoryItem.objects.filter(user=item.user).exists()
    entries = AuditEntry.objects.filter(workspace=item.workspace, target=f"user:{item.user_id}")
    assert set(entries.values_list("action", flat=True)) == {"person.erase", "memory.erase"}


def test_a_person_s_data_is_downloaded_once(browser: Client, item: MemoryItem) -> None:
    url = reverse("admin:memory_memoryitem_download", args=[item.pk])
    assert browser.get(url).status_code == 302, "not confirmed"
    press(browser, item, "export")
    sent = browser.get(url)
    assert sent["Content-Disposition"] == 'attachment; filename="ann-of-tests.zip"'
    with zipfile.ZipFile(io.BytesIO(b"".join(sent))) as packed:
        assert b"green tea" in packed.read("memory_memoryitem.jsonl")
    assert browser.get(url).status_code == 302, "again"
    entries = AuditEntry.objects.filter(workspace=item.workspace, action="person.export")
    assert entries.count() == 1


def test_forgetting_is_the_one_way_to_remove_a_memory(browser: Client, item: MemoryItem) -> None:
    delete = reverse("admin:memory_memoryitem_delete", args=[item.pk])
    assert delete not in browser.get(change_page(item)).content.decode()
    assert browser.post(delete, {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [item.pk], "post": "yes"}
    browser.post(PAGE, chosen)
    assert MemoryItem.objects.filter(pk=item.pk).exists()
