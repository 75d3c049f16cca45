"""Text that PostgreSQL does not store, at every door: a sentence of the protocol, no failure."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest

from tests.api.server import key_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

VERSION: Final = "2026-07-28"
PREFIX: Final = "io.modelcontextprotocol/"
BAD: Final = "a\0b\ud800"
NUL: Final = "a\0b"
SAID: Final = {"role": "user", "content": BAD}
RESUMED: Final = [{"interruptId": BAD, "status": "resolved"}]


@pytest.fixture
def http(web: WebServer, workspace: Workspace) -> Iterator[httpx.Client]:
    """A client that says what each protocol wants to hear."""
    headers = {
        "Authorization": f"Bearer {key_for(workspace)}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "A2A-Version": "1.0",
    }
    with httpx.Client(
        base_url=web.url,
        headers=headers,
        timeout=60,
        verify=False,  # noqa: S501  it has no certificate
    ) as found:
        yield found


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (NUL, rpc("tools/call", name=NUL, arguments={"task": "x"})),
        ("writer", rpc("tools/call", name="writer", arguments={BAD: BAD})),
        ("writer", rpc("tools/call", name="writer", arguments={"task": 2**70})),
        ("writer", rpc("tools/call", name="writer", arguments={}, requestState=BAD)),
        ("", rpc("tasks/get", taskId=BAD)),
        ("", rpc("tasks/update", taskId=BAD, inputResponses={BAD: {"action": "accept"}})),
        (f"artifact:{NUL}", rpc("resources/read", uri=f"artifact:{NUL}")),
    ],
)
def test_mcp_answers_in_a_sentence(http: httpx.Client, name: str, body: Any) -> None:
    body["params"]["_meta"] = {
        f"{PREFIX}protocolVersion": VERSION,
        f"{PREFIX}clientCapabilities": {"extensions": {f"{PREFIX}tasks": {}}},
        "heartbit/idempotencyKey": BAD,
    }
    headers = {
        "MCP-Protocol-Version": VERSION,
        "MCP-Method": body["method"],
    }
    if name:
        headers["MCP-Name"] = f"=?base64?{base64.b64encode(name.encode()).decode()}?="
    found = http.post("/mcp", content=json.dumps(body), headers=headers)
    assert found.status_code < 500, found.text
    answer = found.json()
    assert answer["result"]["isError"] if "result" in answer else answer["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("/a2a/writer", rpc("GetTask", id=BAD), "no task"),
        ("/a2a/writer", rpc("ListTasks", contextId=BAD, pageToken=BAD), "cursor"),
        (
            "/a2a/writer",
            rpc(
                "SendMessage",
                message={
                    "messageId": BAD,
                    "role": "ROLE_USER",
                    "parts": [{"text": BAD}],
                    "contextId": BAD,
                },
            ),
            "no conversation",
        ),
        (
            "/v1/chat/completions",
            {"model": BAD, "messages": [{"role": "user", "content": BAD}]},
            "",
        ),
        (
            "/v1/responses",
            {"model": "writer", "input": BAD, "previous_response_id": BAD},
            "no resp",
        ),
        (
            "/agui/writer",
            {"threadId": BAD, "runId": BAD, "messages": [], "resume": RESUMED},
            "not those to interrupts",
        ),
    ],
)
def test_other_doors_answer_in_a_sentence(
    http: httpx.Client, path: str, body: Any, sentence: str
) -> None:
    found = http.post(path, content=json.dumps(body))
    assert found.status_code < 500, found.text
    assert sentence in found.text


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/a%00b",
        "/v1/responses/a%00b",
        "/a2a/a%00b/.well-known/agent-card.json",
        "/agui/a%00b",
        "/mcp%00",
        "/api/v1/agents/a%00b",
        "/w/a%00b/",
        "/admin/agents/a%00b/",
    ],
)
def test_an_address_with_nul_is_not_found(http: httpx.Client, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        found = http.request(method, path, json={} if method == "POST" else None)
        assert found.status_code == 404, (method, found.text)
        assert "NUL" in found.text
