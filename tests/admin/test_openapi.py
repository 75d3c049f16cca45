"""APIs with an OpenAPI document in the admin: uploaded or named, and operations picked from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.admin.forms import filled_undrawn
from tests.admin.test_mcp_servers import SERVERS, added, bare, browser, url_of
from tests.fleet import wait_until
from tests.openapi.server import api_server, document
from tools.models import CatalogueTool, McpServer

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.clients import Client

__all__ = ["bare", "browser"]
pytestmark = pytest.mark.usefixtures("database")  # a refresh has a thread of its own


def read(browser: Client, row: McpServer) -> str:
    """The page once the document was read."""
    followed = url_of("progress", row)
    wait_until(lambda: browser.get(followed).headers.get("HX-Refresh"), seconds=60, what="read")
    return browser.get(url_of("change", row)).content.decode()


def saved(browser: Client, row: McpServer, **fields: Any) -> Any:
    page = url_of("change", row)
    return browser.post(page, filled_undrawn(browser, page) | fields, follow=True)


def test_a_document_is_uploaded_and_its_operations_are_picked(
    browser: Client, bare: Workspace
) -> None:
    file = SimpleUploadedFile("issues.yaml", document("issues.yaml").encode())
    api = {"transport": "openapi", "command": "", "name": "tracker"}
    added(browser, bare, **api, file=file)
    row = McpServer.objects.get(workspace=bare)
    text = read(browser, row)
    assert "0 of 5 operations are tools." in text
    assert "createIssue · POST /repos/{owner}/{repo}/issues · Open an issue" in text
    assert "credentials a bearer token" in text
    saved(browser, row, operations=["createIssue"], effects='{"createIssue": "idempotent"}')
    text = read(browser, row)
    assert "1 of 5 operations is a tool." in text
    tool = CatalogueTool.objects.get(server=row)
    assert (tool.name, tool.definition.effect) == ("tracker_create_issue", "idempotent")
    assert "an OpenAPI document" in browser.get(SERVERS).content.decode()
    assert saved(browser, row, operations=[], effects="").status_code == 200
    assert "0 of 5 operations are tools. Gone: tracker_create_issue." in read(browser, row)


def test_an_address_replaces_an_upload(
    browser: Client, bare: Workspace, settings: Settings
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    file = SimpleUploadedFile("issues.yaml", document("issues.yaml").encode())
    added(browser, bare, transport="openapi", command="", name="sky", file=file)
    row = McpServer.objects.get(workspace=bare)
    read(browser, row)
    with api_server() as api:
        api.documents["/w"] = document("weather.json")
        saved(browser, row, openapi=f"{api.url}/w")
        assert "0 of 3 operations are tools." in read(browser, row)
    row.refresh_from_db()
    assert (row.document, row.openapi) == ("", f"{api.url}/w")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff\xfe", "The document is not UTF-8 text: save it as UTF-8."),
        (b'swagger: "2.0"', "The document is of Swagger 2.0: convert it to OpenAPI 3."),
        (b"a: &a [1]\nb: *a", "has an alias (*name) at line 2"),
    ],
)
def test_what_is_no_document_is_said_at_its_field(
    browser: Client, bare: Workspace, content: bytes, sentence: str
) -> None:
    file = SimpleUploadedFile("api.yaml", content)
    answer = added(browser, bare, transport="openapi", command="", file=file)
    assert sentence in answer.context["adminform"].form.errors["file"][0]
    assert not McpServer.objects.filter(workspace=bare).exists()


def test_an_api_needs_a_document(browser: Client, bare: Workspace) -> None:
    answer = added(browser, bare, transport="openapi", command="", url="https://x.example")
    errors = answer.context["adminform"].form.errors
    assert "is missing: name its address, or give its text." in errors["openapi"][0]
