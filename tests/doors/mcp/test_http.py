"""Who may send a request to ``/mcp``, and how: refusals are one sentence in JSON-RPC's form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from agents.models import Run
from tests.api.server import key_for

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.doors.mcp.conftest import Mcp

VERSION = "2026-07-28"
TASKS: dict[str, Any] = {"io.modelcontextprotocol/tasks": {}}
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {"_meta": ENVELOPE, **params},
    }


def send(mcp: Mcp, body: Any, verb: str = "POST", **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else None
    named = isinstance(body, dict) and isinstance(body.get("params"), dict)
    usual = {
        "Authorization": f"Bearer {mcp.key}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": VERSION,
        **({"MCP-Method": str(body.get("method"))} if isinstance(body, dict) else {}),
        **({"MCP-Name": str(body["params"].get("name", ""))} if named else {}),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    given = {name: value for name, value in usual.items() if value}
    json = body if content is None and verb == "POST" else None
    with httpx.Client(timeout=60, verify=False) as http:  # noqa: S501  it has no certificate
        return http.request(verb, mcp.address, content=content, json=json, headers=given)


def sentence(response: httpx.Response) -> str:
    body = response.json()
    assert (body["jsonrpc"], "result" in body) == ("2.0", False)
    message = body["error"]["message"]
    assert isinstance(message, str)
    return message


def test_a_request_stands_alone(mcp: Mcp) -> None:
    found = send(mcp, request())
    assert found.status_code == 200, found.text
    names = [tool["name"] for tool in found.json()["result"]["tools"]]
    assert "writer" in names
    assert "mcp-session-id" not in found.headers


@pytest.mark.parametrize("key", ["", "Bearer hb_nothing", "Basic eDp5"])
def test_without_a_key_nothing_else_is_told(mcp: Mcp, key: str) -> None:
    for verb in ("POST", "GET", "DELETE"):
        refused = send(mcp, request(), verb, Authorization=key, Accept="text/html")
        assert refused.status_code == 401, refused.text
        assert refused.headers["WWW-Authenticate"].startswith("Bearer")
        assert "API key" in sentence(refused)


def test_a_key_needs_the_rights_to_start_and_read_runs(mcp: Mcp, workspace: Workspace) -> None:
    mcp.key = key_for(workspace, ["runs:read"])
    refused = send(mcp, request())
    assert refused.status_code == 403
    assert 'scope="runs:read runs:write"' in refused.headers["WWW-Authenticate"]
    assert "runs:write" in sentence(refused)


def test_there_is_no_stream_and_no_session(mcp: Mcp) -> None:
    for verb in ("GET", "DELETE", "PUT"):
        refused = send(mcp, None, verb)
        assert (refused.status_code, refused.headers["Allow"]) == (405, "POST")
        assert "POST" in sentence(refused)


def test_pages_of_other_sites_are_refused(mcp: Mcp) -> None:
    refused = send(mcp, request(), Origin="https://evil.example")
    assert refused.status_code == 403
    assert "origin" in sentence(refused)
    assert send(mcp, request(), Host="evil.example").status_code == 421
    assert send(mcp, request(), Origin="http://127.0.0.1:3000").status_code == 200


BEFORE = {"MCP_Protocol_Version": "2025-11-25"}
ODD: tuple[tuple[Any, dict[str, str], int], ...] = (
    (b"{", {}, 400),
    (b"[]", {}, 400),
    (b"\xff\xfe", {}, 400),
    (b"[" * 100_000, {}, 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {}, 400),
    ({**request(), "id": None}, {}, 400),
    ({**request(), "jsonrpc": "1.0"}, {}, 400),
    ({**request(), "params": 7}, {}, 400),
    (request("tools/nothing"), {}, 404),
    (request("tools/call", name=7), {}, 400),
    (request("tools/call", name="writer", arguments=[]), {}, 400),
    (request("tools/call", name="no\u0000body", arguments={}), {"MCP-Name": ""}, 400),
    (request("tools/list", cursor=7), {}, 400),
    (request(), {"MCP_Protocol_Version": "2031-01-01"}, 400),
    (request(), {"MCP_Protocol_Version": "2025-11-25", "MCP_Method": ""}, 200),
    (request(), {"MCP_Method": "tools/call"}, 400),
    (request(), {"Accept": "text/html"}, 406),
    (request(), {"Accept": "application/json"}, 406),
    (request(), {"Content_Type": "text/plain"}, 415),
    (b"{", BEFORE, 400),
    (b"[" * 100_000, BEFORE, 400),
    (b"[]", BEFORE, 400),
    ({**request(), "params": 7}, BEFORE, 400),
)


@pytest.mark.parametrize(("body", "headers", "status"), ODD, ids=[str(n) for n in range(len(ODD))])
def test_odd_requests_are_refused_in_the_protocols_form(
    mcp: Mcp, workspace: Workspace, body: Any, headers: dict[str, str], status: int
) -> None:
    found = send(mcp, body, **headers)
    assert found.status_code == status, found.text
    if status != 200:
        assert sentence(found)
    assert not Run.objects.filter(workspace=workspace).exists()


def test_a_body_that_is_too_large_is_not_read(mcp: Mcp) -> None:
    refused = send(mcp, b" " * 1_000_001)
    assert refused.status_code == 413
    assert "too large" in sentence(refused)


def test_an_empty_task_starts_nothing(mcp: Mcp, workspace: Workspace) -> None:
    found = send(mcp, request("tools/call", name="writer", arguments={"task": " "}))
    assert found.status_code == 200, found.text
    assert found.json()["result"]["isError"]
    assert not Run.objects.filter(workspace=workspace).exists()


def test_there_is_no_redirect(web: WebServer, mcp: Mcp) -> None:
    assert httpx.post(f"{web.url}/mcp/", verify=False).status_code in (403, 404)  # noqa: S501
    assert send(mcp, request()).status_code == 200


def test_a_task_is_asked_about_under_its_own_name_alone(mcp: Mcp) -> None:
    """Proxies route by the header, which must not say something else than the body."""
    capable = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"extensions": TASKS}}
    called = request("tools/call", name="writer", arguments={"task": "[[text: Done.]]"})
    called["params"]["_meta"] = capable
    task = send(mcp, called).json()["result"]["taskId"]
    for name, status in ((task, 200), ("another", 400), ("", 200)):
        asked = request("tasks/get", taskId=task)
        asked["params"]["_meta"] = capable
        found = send(mcp, asked, MCP_Name=name)
        assert found.status_code == status, found.text
    assert found.json()["result"]["taskId"] == task


def test_an_unknown_state_is_an_error_and_no_result(mcp: Mcp, workspace: Workspace) -> None:
    """A result would end the call for the client, whose run still waits."""
    body = request("tools/call", name="writer", requestState="x-TAMPERED", inputResponses={})
    refused = send(mcp, body)
    assert refused.status_code == 400, refused.text
    assert "requestState" in sentence(refused)
    assert not Run.objects.filter(workspace=workspace).exists()
