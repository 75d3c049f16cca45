"""APIs of a workspace: documents fetched, operations picked, tools stored and changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.config.apply import import_config
from heartbit_site.config.export import export
from heartbit_site.config.mcp_servers import McpServerChanges
from heartbit_site.config.read import parse
from tests.openapi.server import Api, api_server, document
from tools.actions.mcp_servers import set_mcp_server
from tools.actions.refresh_mcp_server import Refresh, refresh_mcp_server
from tools.models import CatalogueTool, McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _allowed(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"


@pytest.fixture
def api() -> Iterator[Api]:
    with api_server() as api:
        yield api


def of_paths(**paths: Any) -> str:
    items = {f"/{name}": item for name, item in paths.items()}
    return json.dumps(
        {"openapi": "3.1.0", "paths": items, "servers": [{"url": "https://a.example"}]}
    )


def read(workspace: Workspace, **settings: Any) -> Refresh:
    row = McpServer.objects.filter(workspace=workspace, name="api").first()
    row = row or McpServer(workspace=workspace, name="api")
    set_mcp_server(row, settings, by=SYSTEM)
    return refresh_mcp_server(row, by=SYSTEM)


def tools(workspace: Workspace) -> dict[str, str]:
    rows = CatalogueTool.objects.filter(workspace=workspace, server__name="api")
    return dict(rows.values_list("name", "remote_name"))


def test_names_are_valid_and_unique_and_stay(workspace: Workspace) -> None:
    ids = ["getUser", "get_user", "get-user", "GETUser2", "é" * 20, "x" * 128, "id with spaces"]
    paths: Any = {f"p{n}": {"get": {"operationId": each}} for n, each in enumerate(ids)}
    assert read(workspace, document=of_paths(**paths), operations=ids).ok
    named = {remote: name for name, remote in tools(workspace).items()}
    assert named["GETUser2"] == "api_get_user2"
    assert named["id with spaces"] == "api_id_with_spaces"
    assert len(set(named.values())) == len(ids)
    assert all(
        len(name) <= 64 and name.isidentifier() and name.isascii() for name in tools(workspace)
    )
    del paths["p0"]
    read(workspace, document=of_paths(**paths), operations=ids)
    named.pop("getUser")
    assert {remote: name for name, remote in tools(workspace).items()} == named


def test_operations_that_are_not_there_or_cannot_be_used_are_left_out(workspace: Workspace) -> None:
    huge = {"get": {"operationId": "huge", "description": "a" * 50_000}}
    wide = {"post": {"operationId": "wide", "requestBody": {"content": {"application/json": {
        "schema": {"enum": ["a" * 1000 + str(n) for n in range(100)]}}}}}}  # fmt: skip
    found = read(
        workspace,
        document=of_paths(huge=huge, wide=wide),
        operations=["gone", "huge", "GET /huge", "wide"],
    )
    assert found.message == (
        "1 of 2 operations is a tool. Left out: gone, because the document has no such operation. "
        "Left out: wide, because its schema has more than 65,536 characters."
    )


def test_all_operations_of_a_large_document_are_offered(workspace: Workspace) -> None:
    paths: Any = {f"p{n}": {"get": {"summary": "a" * 500}} for n in range(3_000)}
    found = read(workspace, document=of_paths(**paths))
    assert found.message == "0 of 3,000 operations are tools."
    row = McpServer.objects.get(workspace=workspace)
    assert len(row.offered) == 3_000
    assert row.offered[0] == {
        "operation": "GET /p0", "request": "GET /p0", "summary": "a" * 200, "effect": "pure",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("<html>", "is not an object of JSON or YAML"),
        (b"\xff\xfe\x00", "neither JSON nor YAML"),
        (b"{" + b" " * 11_000_000, "The response is larger than 10000000 bytes."),
        (None, "The document cannot be fetched: the server answered 404 Not Found."),
    ],
)
def test_a_document_that_cannot_be_used_says_why(
    workspace: Workspace, api: Api, content: str | bytes | None, sentence: str
) -> None:
    api.answers["/gone"] = (404, {}, "")
    if content is not None:
        api.documents["/gone"] = content
    found = read(workspace, openapi=f"{api.url}/gone")
    assert not found.ok
    assert sentence in found.message


def test_documents_and_redirects_on_private_addresses_are_not_fetched(
    workspace: Workspace, api: Api, settings: Settings
) -> None:
    api.answers["/redirect"] = (302, {"location": "http://169.254.169.254/openapi.json"}, "")
    found = read(workspace, openapi=f"{api.url}/redirect")
    assert "169.254.169.254" in found.message
    settings.HEARTBIT_HTTP_ALLOWLIST = ""
    received = len(api.received)
    assert not read(workspace, openapi=f"{api.url}/redirect").ok
    assert len(api.received) == received


def test_a_server_is_an_api_a_program_or_speaks_mcp_in_turn(workspace: Workspace) -> None:
    row = McpServer(workspace=workspace, name="api")
    text = document("issues.yaml")
    set_mcp_server(row, {"document": text, "operations": ["createIssue"]}, by=SYSTEM)
    set_mcp_server(row, {"openapi": "https://a.example/openapi.json"}, by=SYSTEM)
    assert (row.transport, row.document) == ("openapi", "")
    set_mcp_server(row, {"url": "https://a.example/v2"}, by=SYSTEM)
    assert (row.transport, row.url, row.operations) == (
        "openapi", "https://a.example/v2", ["createIssue"],
    )  # fmt: skip
    set_mcp_server(row, {"document": text}, by=SYSTEM)
    assert (row.transport, row.openapi) == ("openapi", "")
    with pytest.raises(ConfigurationError, match="The OpenAPI document is missing"):
        set_mcp_server(row, {"document": ""}, by=SYSTEM)
    row.refresh_from_db()
    whole = {"url": "https://a.example/mcp", "openapi": "", "document": ""}
    set_mcp_server(row, whole, by=SYSTEM)
    assert (row.transport, row.operations, row.document) == ("http", [], "")


FILE = """
[[mcp_servers]]
name = "api"
openapi = "{url}/w"
operations = ["getForecast"]
effects = {{"getForecast" = "idempotent"}}
timeout_seconds = 20
"""


def test_a_file_brings_an_api_with_its_operations(workspace: Workspace, api: Api) -> None:
    api.documents["/w"] = document("weather.json")
    text = FILE.format(url=api.url)
    assert import_config(workspace, parse(text)).mcp_servers == McpServerChanges(created=("api",))
    tool = CatalogueTool.objects.get(workspace=workspace, server__name="api")
    assert (tool.name, tool.definition.effect) == ("api_get_forecast", "idempotent")
    again = import_config(workspace, parse(export(workspace)))
    assert again.mcp_servers == McpServerChanges(unchanged=("api",))
    more = text.replace('["getForecast"]', '["getForecast", "getAlerts"]')
    assert import_config(workspace, parse(more)).mcp_servers.updated == ("api",)
    assert set(tools(workspace)) == {"api_get_forecast", "api_get_alerts"}


def test_a_file_brings_the_text_of_a_document(workspace: Workspace) -> None:
    text = f"[[mcp_servers]]\nname = \"api\"\ndocument = '''\n{document('payments.yaml')}'''\n"
    import_config(workspace, parse(text))
    again = import_config(workspace, parse(export(workspace)))
    assert again.mcp_servers == McpServerChanges(unchanged=("api",))
