"""The description of the API, and its page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from heartbit_site.api.errors import STATUSES, problem_code
from tests.web.matrix_routes import ROUTES

if TYPE_CHECKING:
    from tests.api.server import WebServer


@pytest.fixture(scope="module")
def described(web: WebServer) -> Any:
    response = httpx.get(f"{web.url}/api/v1/openapi.json", timeout=60)
    assert response.status_code == 200
    return response.json()


def test_every_documented_path_is_in_the_table(described: Any) -> None:
    documented = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, operations in described["paths"].items()
        for method in operations
    }
    assert documented == {(route.method, route.path) for route in ROUTES}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_says_what_can_go_wrong(described: Any, route: Any) -> None:
    operation = described["paths"][f"/api/v1{route.path}"][route.method.lower()]
    expected = {str(route.right)}
    if route.scope is not None:
        expected |= {"401", "403", "404", "422", "429", "503"}
        assert operation["security"] == [{"key": []}, {"session": []}]
        either = f"|{route.either or route.own}" if route.either or route.own else ""
        assert operation.get("x-scope", "") == f"{route.scope}{either} {route.also}".strip()
    if route.body is not None:
        expected |= {"400", "408", "413"}
    assert expected <= set(operation["responses"])
    for status, answer in operation["responses"].items():
        if int(status) >= 400:
            form = {"schema": {"$ref": "#/components/schemas/ProblemOut"}}
            assert answer["content"] == {"application/problem+json": form}


def test_an_operation_has_an_id_of_its_own_a_tag_and_a_summary(described: Any) -> None:
    found = [one for path in described["paths"].values() for one in path.values()]
    names = [one["operationId"] for one in found]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in names)
    assert not [name for name in names if name.startswith("heartbit_site")]
    assert all(one["tags"] and one["summary"] for one in found)


def test_a_parameter_is_described_where_readers_look_for_it(described: Any) -> None:
    parameters = described["paths"]["/api/v1/deliveries"]["get"]["parameters"]
    words = {one["name"]: one.get("description") for one in parameters}
    assert words["run"] == "A run's id, or the beginning of it (at least 8 characters)."
    assert words["limit"] == "Maximum number of rows."


def test_the_stream_is_described_as_one(described: Any) -> None:
    answers = described["paths"]["/api/v1/runs/{run_id}/events"]["get"]["responses"]
    assert "text/event-stream" in answers["200"]["content"]
    assert "404" in answers


def test_keys_and_sessions_are_both_described(described: Any) -> None:
    schemes = described["components"]["securitySchemes"]
    assert (schemes["key"]["type"], schemes["key"]["scheme"]) == ("http", "bearer")
    assert (schemes["session"]["in"], schemes["session"]["name"]) == ("cookie", "sessionid")


def test_every_reference_leads_somewhere(described: Any) -> None:
    names = set(re.findall(r"#/components/schemas/(\w+)", str(described)))
    assert names <= set(described["components"]["schemas"])


def test_the_page_loads_nothing_from_elsewhere(web: WebServer) -> None:
    page = httpx.get(f"{web.url}/api/v1/docs")
    assert page.status_code == 200
    links = re.findall(r"""(?:src|href)=["']([^"']+)""", page.text)
    assert links
    assert all(link.startswith("/") for link in links)
    for link in links:
        assert httpx.get(f"{web.url}{link}").status_code == 200, link


def test_an_error_s_type_is_its_class() -> None:
    names = [problem_code(kind) for kind, _ in STATUSES]
    assert names == [
        *(
            "malformed_body",
            "unauthorized",
            "invalid_signature",
            "forbidden",
            "stopped_by_operator",
        ),
        *("not_found", "too_slow", "conflict", "too_large", "too_busy", "readers_busy"),
        *("model_unreachable", "no_sandbox", "memory_provider", "live_output", "archive"),
        *("too_many_requests", "quota_exceeded", "heartbit"),
    ]
