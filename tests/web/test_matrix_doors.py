"""Every request of the doors, by whoever may not send it (S7): it is refused, and tells nothing.

The key that may send it is asked too, where that changes nothing: so the ids name something.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest

from heartbit_site.doors.a2a.methods import METHODS
from tests.web.matrix_world import World, build
from tests.web.test_matrix import OF_PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.api.server import WebServer

AGENT: Final = "parked"  # of both workspaces
PREFIX: Final = "io.modelcontextprotocol/"
VERSION: Final = "2026-07-28"
READ, WRITE, DECIDE = "runs:read", "runs:write", "approvals:decide"
NO_SCOPE: Final = ("anonymous", "wrong key", "revoked key")
REFUSED: Final = (401, 403, 404)


#: A card that names no agent, which is that of the key's own workspace.
ALONE: Final = {"/a2a/.well-known/agent-card.json"}
NOT_OFFERED: Final = {"GetExtendedAgentCard", "SendStreamingMessage"}  # the latter: as SendMessage


@dataclass(frozen=True, slots=True)
class Request:
    """A request with ids of mine.

    Attributes:
        scopes: Scopes without any of which it is refused.
        body: What is sent; ``RUN``, ``THREAD``, ``NAME``, ``CALL``: what is mine.
        reads: True if the right key may send it as often as it likes.
        lists: True if others may send it as well, and are told of what is theirs.
    """

    method: str
    path: str
    scopes: tuple[str, ...]
    body: Any = None
    reads: bool = False
    lists: bool = False

    def __str__(self) -> str:
        what = self.body if isinstance(self.body, dict) else {}
        called = what.get("params", {}).get("name") or what.get("params", {}).get("uri") or ""
        return " ".join(filter(None, (self.method, self.path, what.get("method"), called)))


def get(path: str, *scopes: str, lists: bool = False) -> Request:
    return Request("GET", path, scopes, reads=True, lists=lists)


def post(path: str, *scopes: str, **body: Any) -> Request:
    return Request("POST", path, scopes, body)


def rpc(path: str, method: str, *scopes: str, reads: bool = False, **params: Any) -> Request:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return Request("POST", path, scopes, body, reads=reads)


def mcp(method: str, *scopes: str, path: str = "/mcp", reads: bool = False, **params: Any) -> Any:
    return rpc(path, method, *scopes, reads=reads, **params)


def push(verb: str, scope: str, *, end: str = "", **more: Any) -> Request:
    """A request about receivers of a task's states."""
    method = f"{verb}TaskPushNotificationConfig{end}"
    return rpc("/a2a/parked", method, scope, taskId="RUN", id="p", **more)


def listed(request: Request) -> Request:
    return Request(request.method, request.path, request.scopes, request.body, True, True)  # noqa: FBT003


SAID: Final = [{"role": "user", "content": "Hello."}]
PART: Final = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hello."}]}
INTERRUPT: Final = {"interruptId": "HEX_1_decision:RUN:CALL:", "status": "cancelled"}
THREAD: Final = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": []}
REQUESTS: Final = (
    get("/v1/models/NAME", "agents:read"),
    get("/v1/models", "agents:read", lists=True),
    get("/v1/responses/resp_RUN", READ),
    post("/v1/responses/resp_RUN/cancel", WRITE),
    post("/v1/responses", WRITE, READ, model=AGENT, input="x", previous_response_id="resp_RUN"),
    post("/v1/responses", WRITE, READ, model="NAME", input="x"),
    post("/v1/chat/completions", WRITE, READ, model="NAME", messages=SAID),
    get("/a2a/NAME/.well-known/agent-card.json", "agents:read"),
    rpc("/a2a/parked", "GetTask", READ, reads=True, id="RUN"),
    rpc("/a2a", "GetTask", READ, reads=True, id="RUN"),
    rpc("/a2a/parked", "CancelTask", WRITE, READ, id="RUN"),
    rpc("/a2a/parked", "SubscribeToTask", READ, id="RUN"),
    rpc("/a2a/parked", "SendMessage", WRITE, READ, message={**PART, "taskId": "RUN"}),
    rpc("/a2a/parked", "SendMessage", WRITE, READ, message={**PART, "contextId": "THREAD"}),
    listed(rpc("/a2a/parked", "ListTasks", READ)),
    push("Create", WRITE, url="https://127.0.0.1/"),
    push("Get", READ),
    push("List", READ, end="s"),
    push("Delete", WRITE),
    mcp("tools/call", WRITE, READ, name="NAME", arguments={"task": "x"}),
    mcp("tools/call", WRITE, READ, name=AGENT, arguments={}, requestState="RUN"),
    mcp("tasks/get", WRITE, READ, reads=True, taskId="RUN"),
    mcp("tasks/update", WRITE, READ, DECIDE, taskId="RUN", inputResponses={}),
    mcp("tasks/cancel", WRITE, READ, taskId="RUN"),
    mcp("resources/read", READ, uri="heartbit://runs/RUN/artifacts/code-1"),
    listed(mcp("tools/list", WRITE, READ)),
    listed(mcp("resources/list", WRITE, READ)),
    mcp(
        *("tools/call", READ),
        path="/mcp/operator",
        reads=True,
        name="show_run",
        arguments={"run_id": "RUN"},
    ),
    mcp(
        *("tools/call", WRITE),
        path="/mcp/operator",
        name="cancel_run",
        arguments={"run_id": "RUN"},
    ),
    post("/agui/NAME", WRITE, READ, **{**THREAD, "messages": [{"id": "1", **SAID[0]}]}),
    post("/agui/parked", WRITE, READ, DECIDE, **THREAD, resume=[INTERRUPT]),
)


@pytest.fixture(scope="module")
def world(site: WebServer) -> Iterator[World]:
    yield from build(site)


def send(world: World, request: Request, asker: str, without: str = "") -> httpx.Response:
    """The answer to an asker, who names what is mine."""
    run, name = world.targets["run_id"], world.targets["name"]
    mine = {
        "HEX": run.replace("-", ""),
        "RUN": run,
        "NAME": name,
        "THREAD": world.targets["conversation_id"],
        "CALL": world.targets["call_id"],
    }

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(one) for key, one in value.items()}
        if isinstance(value, list):
            return [filled(one) for one in value]
        for word, found in mine.items() if isinstance(value, str) else ():
            value = value.replace(word, found)
        return value

    body, headers = filled(request.body), {"Accept": "application/json, text/event-stream"}
    if request.path.startswith("/a2a"):
        headers["A2A-Version"] = "1.0"
    if request.path.startswith("/mcp"):
        tasks: dict[str, Any] = {"extensions": {f"{PREFIX}tasks": {}}}
        meta = {f"{PREFIX}protocolVersion": VERSION, f"{PREFIX}clientCapabilities": tasks}
        body["params"]["_meta"] = meta
        named = (body["params"].get(key) for key in ("name", "uri", "taskId"))
        headers |= {
            "MCP-Protocol-Version": VERSION,
            "MCP-Method": body["method"],
            "MCP-Name": next(filter(None, named), ""),
        }
        headers = {key: value for key, value in headers.items() if value}
    client = world.client(asker, without)
    return client.request(request.method, filled(request.path), json=body, headers=headers)


def refusal(response: httpx.Response) -> str:
    """What a protocol says instead of an answer; empty: it answered."""
    if response.status_code in REFUSED:
        return response.text
    assert response.status_code < 500, response.text
    text = response.text.rpartition("data: ")[2] if "data: " in response.text else response.text
    found: dict[str, Any] = json.loads(text)
    is_error = found.get("error") or found.get("type") == "RUN_ERROR"
    return text if is_error or found.get("result", {}).get("isError") else ""


def test_every_path_and_method_has_a_row() -> None:
    rows = {(one.path, (one.body or {}).get("method", "")) for one in REQUESTS}
    paths = {re.sub(r"(?<=/)(resp_RUN|NAME|parked)(?=/|$)", "<>", path) for path, _ in rows}
    wanted = {f"/{path}" for path in OF_PROGRAMS if path.startswith(("v1/", "a2a/", "agui/"))}
    assert {re.sub(r"<[^>]*>", "<>", path) for path in wanted} - ALONE <= paths
    assert {method for method in METHODS if method not in NOT_OFFERED} <= {name for _, name in rows}


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_whoever_may_not_is_refused_and_told_nothing(world: World, request_: Request) -> None:
    before = world.fingerprint()
    wrong = []
    askers = [(asker, "") for asker in (*NO_SCOPE, "foreign key")]
    askers += [("narrow key", scope) for scope in request_.scopes]
    for asker, without in askers:
        response = send(world, request_, asker, without)
        said = refusal(response)
        if not said and not (asker == "foreign key" and request_.lists):
            wrong.append(f"{asker} {without}: {response.status_code} {response.text[:300]}")
        is_told = f"canary of {world.mine.slug}" in response.text
        if is_told or (not said and world.targets["name"] in response.text):
            wrong.append(f"{asker} {without} was told of what is mine: {response.text[:300]}")
    assert wrong == []
    assert world.fingerprint() == before, "nothing was written"


@pytest.mark.parametrize("request_", [one for one in REQUESTS if one.reads], ids=str)
def test_the_right_key_is_answered(world: World, request_: Request) -> None:
    assert refusal(send(world, request_, "right key")) == ""
