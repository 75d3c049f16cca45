"""Every route by every kind of key. A route without a row fails here (S7)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, get_resolver

from agents.actions.post_message import start_conversation
from agents.actions.publish_agent import publish_agent
from agents.actions.start_run import start_run
from agents.events import ModelAnswered, encode
from agents.llm.messages import AssistantMessage, Usage
from agents.models import Agent, Run, RunEvent, ToolCall
from heartbit_site.api.mount import api, urlpatterns
from heartbit_site.base.actions.create_api_key import create_api_key
from heartbit_site.base.actions.revoke_api_key import revoke_api_keys
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import ApiKey, Workspace
from heartbit_site.base.models.api_key import SCOPES
from tests.api.server import Caller, key_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.api.server import WebServer

DIGEST = "0" * 64


@dataclass(frozen=True, slots=True)
class Route:
    """One row: what a request needs, and what each kind of key gets."""

    method: str
    path: str
    scope: str | None
    body: dict[str, Any] | None = None
    query: dict[str, Any] = field(default_factory=dict)
    right: int = 200
    stranger: int = 404  # what a key of another workspace gets


ROUTES = (
    Route("POST", "/runs", "runs:write", {"task": "x", "agent": "parked"}, right=201),
    Route("GET", "/runs", "runs:read", stranger=200),
    Route("GET", "/runs/{run_id}", "runs:read"),
    Route("GET", "/runs/{run_id}/result", "runs:read", right=202),
    Route("GET", "/runs/{run_id}/events", "runs:read", query={"follow": "false"}),
    Route("POST", "/runs/{run_id}/messages", "runs:write", {"text": "hurry"}),
    Route("POST", "/runs/{run_id}/retry", "runs:write", right=409),  # it is live
    Route("POST", "/runs/{run_id}/resume", "runs:write", right=409),
    Route("POST", "/runs/{run_id}/discard", "runs:write", right=409),
    Route("POST", "/runs/{run_id}/cancel", "runs:write"),
    Route("GET", "/approvals", "approvals:decide", stranger=200),
    Route(
        "POST",
        "/runs/{run_id}/calls/{call_id}/decision",
        "approvals:decide",
        {"digest": DIGEST, "verdict": "deny"},
        right=409,  # it does not wait: the matrix is about who may ask
    ),
    Route("GET", "/doubts", "approvals:decide", stranger=200),
    Route(
        "POST",
        "/runs/{run_id}/calls/{call_id}/outcome",
        "approvals:decide",
        {"outcome": "skipped"},
        right=409,  # it is not in doubt
    ),
    Route("POST", "/conversations", "runs:write", {"agent": "parked"}, right=201),
    Route(
        "POST", "/conversations/{conversation_id}/messages", "runs:write", {"text": "x"}, right=201
    ),
    Route("GET", "/agents", "agents:read", stranger=200),
    Route("GET", "/agents/{name}", "agents:read"),
    Route("GET", "/runs/{run_id}/turns", "runs:read"),
    Route("GET", "/runs/{run_id}/turns/{number}", "runs:read"),
    Route("POST", "/runs/{run_id}/fork", "runs:write", {"turn": 0}, right=201),
    Route("GET", "/agents/{name}/versions", "agents:read"),
    Route("GET", "/agents/{name}/versions/diff", "agents:read"),
    Route("GET", "/agents/{name}/versions/{number}", "agents:read"),
    Route("POST", "/agents/{name}/versions/{number}/rollback", "agents:write", {}),
    Route("GET", "/agents/{name}/status", "agents:read"),
    Route("POST", "/agents/{name}/stop", "agents:write"),
    Route("POST", "/agents/{name}/start", "agents:write"),
    Route("POST", "/agents/{name}/restart", "agents:write"),
    Route("GET", "/fleet", "fleet:manage", stranger=200),  # the installation's
    Route("POST", "/fleet/workers/{worker_id}/stop", "fleet:manage", right=404),
    Route("POST", "/fleet/workers/{worker_id}/restart", "fleet:manage", right=404),
    Route("GET", "/tools", "agents:read", stranger=200),
    Route("GET", "/health", None),
)
#: Addresses that describe the API and hold nothing of anybody.
OPEN = {"openapi.json", "docs", ""}
KINDS = ("none", "wrong", "revoked", "foreign", "scopeless", "right")


@dataclass(frozen=True, slots=True)
class World:
    """A workspace with something at every address, and a key of each kind."""

    workspace: Workspace
    values: dict[str, str]
    keys: dict[str, str]

    def key(self, kind: str, route: Route) -> str:
        if kind == "scopeless":
            return self.keys[f"without {route.scope}"]
        return self.keys[kind]


def all_but(scope: str) -> list[str]:
    return [name for name in SCOPES if name != scope]


@pytest.fixture(scope="module")
def world(database: None) -> World:
    mine, other = (
        Workspace.objects.create(slug=f"m-{new_id()}"[:50], name=name) for name in ("mine", "other")
    )
    parked = Agent.objects.create(
        workspace=mine, name="parked", system_prompt="Wait.", queue="nobody-serves-this"
    )
    publish_agent(parked)
    run = Run.objects.get(pk=start_run(mine, "canary-of-mine", agent="parked"))
    ToolCall.objects.create(run=run, call_id="1.0", tool="x", arguments="{}", idempotency_key="k")
    answer = encode(ModelAnswered(1, AssistantMessage("x"), Usage(), "stop", "openai:fake"))
    RunEvent.objects.create(run=run, seq=2, **answer)
    Run.objects.filter(pk=run.pk).update(last_seq=2)
    thread = start_conversation(mine, agent="parked")
    keys = {
        "none": "",
        "wrong": "hb_0123456789_" + "A" * 43,
        "right": key_for(mine),
        "foreign": key_for(other),
        "revoked": key_for(mine),
    }
    keys |= {f"without {scope}": key_for(mine, all_but(scope)) for scope in SCOPES}
    prefix = keys["revoked"].split("_")[1]
    revoke_api_keys([ApiKey.objects.get(prefix=prefix).pk])
    values = {
        "run_id": str(run.pk),
        "call_id": "1.0",
        "conversation_id": str(thread.pk),
        "name": "parked",
        "number": "1",
        "worker_id": str(2**62),  # nobody's
    }
    return World(mine, values, keys)


def ask(web: WebServer, route: Route, world: World, key: str) -> httpx.Response:
    with Caller(web, key).http as http:
        path = route.path.format(**world.values)
        return http.request(route.method, path, json=route.body, params=route.query)


def expected(route: Route, kind: str) -> int:
    if route.scope is None:
        return route.right
    by_kind = {"none": 401, "wrong": 401, "revoked": 401, "scopeless": 403}
    return by_kind.get(kind, route.stranger if kind == "foreign" else route.right)


CELLS = [
    (route, kind)
    for route, kind in itertools.product(ROUTES, KINDS)
    if not (route.scope is None and kind == "scopeless")
]


@pytest.mark.parametrize(
    ("route", "kind"), CELLS, ids=[f"{r.method} {r.path} {kind}" for r, kind in CELLS]
)
def test_each_key_gets_what_the_table_says(
    web: WebServer, world: World, route: Route, kind: str
) -> None:
    before = rows_of(world.workspace)
    response = ask(web, route, world, world.key(kind, route))
    assert response.status_code == expected(route, kind), response.text
    if response.status_code >= 400:
        assert set(response.json()) == {"error"}
        assert set(response.json()["error"]) == {"type", "message"}
        assert response.headers["content-type"] == "application/json"
    if kind != "right":
        assert rows_of(world.workspace) == before, "nothing was written"
        assert "canary-of-mine" not in response.text
        assert world.keys["right"].split("_", 2)[2] not in response.text


def rows_of(workspace: Workspace) -> tuple[int, ...]:
    """What a write would change."""
    runs = Run.objects.filter(workspace=workspace)
    return (
        runs.count(),
        runs.filter(status="cancelled").count(),
        RunEvent.objects.filter(run__workspace=workspace).count(),
        workspace.conversations.count(),
    )


def mounted() -> Iterator[tuple[str, str]]:
    """Every address below /api/ that Django would answer, with its methods."""
    for entry in urlpatterns:
        if isinstance(entry, URLResolver):
            for pattern in entry.url_patterns:
                assert isinstance(pattern, URLPattern), "a nested include needs a look"
                yield str(entry.pattern), str(pattern.pattern)


def test_every_route_has_a_row() -> None:
    described = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, operations in api.get_openapi_schema()["paths"].items()
        for method in operations
    }
    assert described == {(route.method, route.path) for route in ROUTES}
    as_django_says = {path.replace("<", "{").replace(">", "}") for _, path in mounted()}
    in_table = {route.path.lstrip("/") for route in ROUTES}
    assert as_django_says == in_table | OPEN


def test_nothing_else_answers_below_api() -> None:
    at_top = [str(entry.pattern) for entry in get_resolver().url_patterns]
    assert [path for path in at_top if "api" in path] == ["api/v1/", "^api(?:/|$)"]


def test_the_fleet_is_not_for_a_key_of_somebody_who_is_no_superuser(
    web: WebServer, world: World
) -> None:
    user = User.objects.create(username=f"u-{new_id()}", is_staff=True)
    _, key = create_api_key(world.workspace, "mine", scopes=SCOPES, user=user)
    fleet = next(route for route in ROUTES if route.path == "/fleet")
    assert ask(web, fleet, world, key).status_code == 403
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    assert ask(web, fleet, world, key).status_code == 200


def test_an_expired_key_opens_nothing(web: WebServer, world: World) -> None:
    past = datetime(2020, 1, 1, tzinfo=UTC)
    _, key = create_api_key(world.workspace, "old", scopes=SCOPES, expires_at=past)
    assert ask(web, ROUTES[1], world, key).status_code == 401


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Basic aGI6eA==", "bearer\thb_x", "hb_x_y", "Bearer é"]
)
def test_a_malformed_header_is_refused(web: WebServer, header: str) -> None:
    headers = [(b"Authorization", header.encode("latin-1"))]
    response = httpx.get(f"{web.url}/api/v1/runs", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
