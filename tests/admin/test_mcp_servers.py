"""MCP servers in the admin: added, read, and their changes accepted as they were shown."""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from agents.admin.bindings import tool_choices
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import AuditEntry, Workspace
from tests.admin.forms import filled_undrawn
from tests.clients import Client
from tests.fleet import wait_until
from tests.mcp.servers import HERE
from tests.web.shots.dealer import PROGRAM
from tools.models import CatalogueTool, McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.usefixtures("database")  # a refresh has a thread of its own

SERVERS = "/admin/tools/mcpserver/"
SLOW = (sys.executable, str(HERE / "hostile.py"), "slow")
SENT = {"_form_submitted": "True"}


@pytest.fixture
def bare(database: None) -> Workspace:
    return Workspace.objects.create(slug=f"bare-{new_id()}"[:50], name="Bare")


def entered(name: str, *, operator: bool) -> Client:
    user, _ = User.objects.get_or_create(
        username=name, defaults={"is_staff": True, "is_superuser": operator}
    )
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    return client


@pytest.fixture
def browser(database: None) -> Client:
    return entered("root-of-mcp-tests", operator=True)


@pytest.fixture
def guest(database: None) -> Client:
    return entered("guest-of-mcp-tests", operator=False)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A directory that the server's user may read, as pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="heartbit-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def refreshed(browser: Client, row: McpServer) -> None:
    """Refresh with the button, and wait until the page is loaded anew."""
    assert browser.post(url_of("refresh", row), SENT).headers["HX-Refresh"] == "true"
    followed = url_of("progress", row)
    wait_until(lambda: browser.get(followed).headers.get("HX-Refresh"), seconds=120, what="read")


def url_of(action: str, row: McpServer) -> str:
    return reverse(f"admin:tools_mcpserver_{action}", args=[row.pk])


def added(browser: Client, bare: Workspace, **fields: Any) -> Any:
    data = filled_undrawn(browser, f"{SERVERS}add/") | {
        "workspace": bare.pk,
        "name": "parts",
        "transport": "stdio",
        "command": "parts",
        "private_data": "own",
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
    refreshed(browser, made)
    text = browser.get(url_of("change", made)).content.decode()
    assert "It has 7 tools." in text
    assert "parts_order_part" in text
    assert "parts-dealer" in text
    assert "Accept changes" not in text

    settings.HEARTBIT_MCP_COMMANDS = {"parts": (*PROGRAM, "new")}
    refreshed(browser, made)
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
    text = browser.get(url_of("change", made)).content.decode()
    assert "accepted. No agent has to be published." in text
    row = CatalogueTool.objects.get(pk=row.pk)
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
    assert 'is "rm", which is not a program of HEARTBIT_MCP_COMMANDS' in errors["command"][0]
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
    refreshed(browser, made)
    assert "Failed" in browser.get(SERVERS).content.decode()
    text = browser.get(url_of("change", made)).content.decode()
    assert "which HEARTBIT_MCP_COMMANDS does not name on this machine." in text


def test_a_slow_refresh_shows_its_progress(
    browser: Client, bare: Workspace, settings: Settings, open_folder: Path
) -> None:
    go_on = open_folder / "go-on"
    settings.HEARTBIT_MCP_COMMANDS = {"parts": (f"+read={open_folder}", *SLOW, str(go_on))}
    added(browser, bare)
    made = McpServer.objects.get(workspace=bare)
    assert browser.post(url_of("refresh", made), SENT).headers["HX-Refresh"] == "true"
    followed = url_of("progress", made)
    wait_until(
        lambda: "100 tools on 1 page so far." in browser.get(followed).content.decode(),
        seconds=120,
        what="the first page",
    )
    listed = browser.get(SERVERS).content.decode()
    assert "Refreshing" in listed
    assert f'hx-get="{followed}"' in listed
    assert browser.post(url_of("refresh", made), SENT).status_code == 200  # left to end
    go_on.touch()
    wait_until(lambda: browser.get(followed).headers.get("HX-Refresh"), seconds=120, what="read")
    text = browser.get(url_of("change", made)).content.decode()
    assert "It has 200 tools." in text
    assert AuditEntry.objects.filter(workspace=bare, action="mcp_server.refresh").count() == 1


def test_a_refresh_whose_process_has_ended_is_interrupted(browser: Client, bare: Workspace) -> None:
    made = McpServer.objects.create(workspace=bare, name="x", url="https://x.example/mcp")
    McpServer.objects.filter(pk=made.pk).update(
        refresh_beat_at=datetime.now(UTC) - timedelta(minutes=1), refresh_progress="Connecting."
    )
    assert "Interrupted" in browser.get(SERVERS).content.decode()
    assert "refresh it again." in browser.get(url_of("change", made)).content.decode()
    assert browser.get(url_of("progress", made)).headers["HX-Refresh"] == "true"


def test_a_refresh_needs_the_permission(guest: Client, bare: Workspace) -> None:
    made = McpServer.objects.create(workspace=bare, name="x", url="https://x.example/mcp")
    assert guest.post(url_of("refresh", made), SENT).status_code == 403
    assert guest.get(url_of("progress", made)).status_code == 403
    assert guest.post(url_of("accept", made), SENT).status_code == 403
    assert guest.get(SERVERS).status_code == 403


def test_a_grant_of_a_server_without_tools_is_offered_for_what_it_is() -> None:
    assert tool_choices({}, "parts_*")[-1] == ("parts_*", "parts_* · the server has no tools now")
    assert tool_choices({}, "parts_find")[-1] == ("parts_find", "parts_find · no longer installed")
