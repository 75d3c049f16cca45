"""The page of a person's own credentials; those of others are neither shown nor changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from heartbit_site.base import secrets
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Role
from tests.mcp.sign_ins import browser
from tests.web.axe import serious
from tests.web.people import member, person
from tools.actions.credentials import save_credential
from tools.models import Credential

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors

FIELDS = {"field_url": "https://api.example/v1", "field_token": "canary-own"}


@pytest.fixture(autouse=True)
def _hosts(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1"]


@pytest.fixture
def path(workspace: Workspace) -> str:
    return f"/w/{workspace.slug}/credentials/"


def test_an_operator_adds_and_deletes_their_own_and_sees_no_others(
    workspace: Workspace, path: str
) -> None:
    anne, bob = member(workspace, Role.OPERATOR), member(workspace, Role.OPERATOR)
    for user, name in ((None, "shared key"), (bob, "key of bob")):
        row = Credential(workspace=workspace, user=user, name=name, kind="bearer")
        save_credential(row, {"url": "https://x.example", "token": "canary-bob"}, by=SYSTEM)
    mine = browser(anne)
    assert b"no credentials of your own" in mine.get(path).content
    form = mine.get(path, {"kind": "bearer"}).content.decode()
    assert all(f'name="{name}"' in form for name in FIELDS)
    data = {"do": "add", "kind": "bearer", "name": "my key", **FIELDS}
    refused = mine.post(path, {**data, "field_url": "nowhere"})
    assert refused.status_code == 409
    assert b"write it like https" in refused.content
    assert b"canary" not in refused.content
    assert mine.post(path, {**data, "name": "x" * 5_000}).status_code == 409
    assert mine.post(path, data).status_code == 302
    made = Credential.objects.get(workspace=workspace, name="my key")
    assert made.user_id == anne.pk
    assert "canary-own" in secrets.reveal(made, "secret")
    page = mine.get(path).content.decode()
    assert "my key" in page
    assert not [text for text in ("shared key", "key of bob", "canary") if text in page]
    for other in Credential.objects.filter(workspace=workspace).exclude(pk=made.pk):
        for do in ("check", "remove"):
            answer = mine.post(path, {"do": do, "id": other.pk})
            assert b"You have no such credential here" in answer.content
    mine.post(path, {"do": "remove", "id": made.pk})
    left = Credential.objects.filter(workspace=workspace).values_list("name", flat=True)
    assert sorted(left) == ["key of bob", "shared key"]


def test_the_page_is_accessible_and_fits_a_phone(visitors: Visitors, workspace: Workspace) -> None:
    visitor = visitors(user=person(operator=True), width=390)  # with all entries of the navigation
    visitor.go("credentials/")
    page = visitor.page
    page.get_by_label("Type").select_option(label="Bearer token")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name").fill("my key")
    page.get_by_label("URL").fill("https://api.example/v1")
    page.get_by_role("textbox", name="Token").fill("canary")
    assert [*map(str, serious(page))] == []
    page.get_by_role("button", name="Add").click()
    page.get_by_role("heading", name="my key").wait_for()
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)
    assert [*map(str, serious(page))] == []
