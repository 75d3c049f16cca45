"""MCP servers in the admin: added, read, and their changes accepted as they were shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from heartbit_site.base.models import AuditEntry, Workspace
from tests.admin.forms import filled
from tests.web.shots.dealer import PROGRAM
from tools.models import CatalogueTool, McpServer

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db

SERVERS = "/admin/tools/mcpserver/"
SENT = {"_form_submitted": "True"}


@pytest.fixture
def bare(db: None) -> Workspace:
    return Workspace.objects.create(slug="bare-of-tests", name="Bare")


def url_of(action: str, row: McpServer) -> str:
    return reverse(f"admin:tools_mcpserver_{action}", args=[row.pk])


def added(browser: Client, bare: Workspace, **fields: Any) -> Any:
    data = filled(browser.get(f"{SERVERS}add/")) | {
        "workspace": bare.pk,
        "name": "parts",
        "transport": "stdio",
        "command": "parts",
        **fields,
    }
    return browser.post(f"{SERVERS}add/", data, follow=True)


def test_a_server_is_added_read_and_its_changes_are_accepted_as_shown(
    browser: Client, bare: Workspace, settings: Settings
) -> None:
    settings.HEARTBIT_MCP_COMMANDS = {"parts": PROGRAM}
    added(browser, bare)
    made = McpServer.objects.get(workspace=bare)
    assert "Not read yet" in browser.get(SERVERS).content.decode()
    assert browser.get(url_of("refresh", made)).status_code == 200
    assert not CatalogueTool.objects.filter(server=made).exists()  # opening the dialog asks nobody
    assert browser.post(url_of("refresh", made), SENT).headers["HX-Refresh"] == "true"
    text = browser.get(url_of("change", made)).content.decode()
    assert "It has 5 tools." in text
    assert "parts_order_part" in text
    assert "parts-dealer" in text
    assert "Accept changes" not in text

    settings.HEARTBIT_MCP_COMMANDS = {"parts": (*PROGRAM, "new")}
    browser.post(url_of("refresh", made), SENT)
    assert "1 changed" in browser.get(SERVERS).content.decode()
    text = browser.get(url_of("change", made)).content.decode()
    assert '<span class="hb-added">+Also send the customer&#x27;s name and address' in text
    assert "Accept changes" in text
    seen = browser.get(url_of("accept", made)).context["form"]["seen"].value()
    refused = browser.post(url_of("accept", made), SENT | {"seen": "another"})
    assert refused.headers["HX-Refresh"] == "true"
    row = CatalogueTool.objects.get(server=made, name="parts_order_part")
    assert row.pending_id is not None
    browser.post(url_of("accept", made), SENT | {"seen": seen})
    row.refresh_from_db()
    assert row.pending_id is None
    assert "name and address" in row.definition.description
    done = AuditEntry.objects.filter(workspace=bare).order_by("pk").values_list("action", flat=True)
    verbs = [action for action in done if action.startswith("mcp_server.")]
    assert verbs == [f"mcp_server.{verb}" for verb in ("add", "refresh", "refresh", "accept")]


def test_what_is_wrong_is_said_at_its_field(
    browser: Client, bare: Workspace, settings: Settings
) -> None:
    settings.HEARTBIT_MCP_COMMANDS = {"parts": PROGRAM}
    errors = added(browser, bare, command="rm").context["adminform"].form.errors
    assert "names no program" in errors["command"][0]
    errors = added(browser, bare, name="Parts!").context["adminform"].form.errors
    assert "lower-case letters" in errors["name"][0]
    assert not McpServer.objects.filter(workspace=bare).exists()


def test_a_server_that_cannot_be_read_says_why(
    browser: Client, bare: Workspace, settings: Settings
) -> None:
    settings.HEARTBIT_MCP_COMMANDS = {"parts": PROGRAM}
    added(browser, bare)
    made = McpServer.objects.get(workspace=bare)
    settings.HEARTBIT_MCP_COMMANDS = {}
    browser.post(url_of("refresh", made), SENT)
    assert "Failed" in browser.get(SERVERS).content.decode()
    text = browser.get(url_of("change", made)).content.decode()
    assert "which HEARTBIT_MCP_COMMANDS does not name on this machine." in text


def test_a_refresh_needs_the_permission(guest: Client, bare: Workspace) -> None:
    made = McpServer.objects.create(workspace=bare, name="x", url="https://x.example/mcp")
    assert guest.post(url_of("refresh", made), SENT).status_code == 403
    assert guest.post(url_of("accept", made), SENT).status_code == 403
    assert guest.get(SERVERS).status_code == 403
