"""Query parameters that an operation does not have are refused: they would be ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from heartbit_site.api.mount import ROUTERS
from heartbit_site.api.query_parameters import parameters_by_route

if TYPE_CHECKING:
    from tests.api.server import Caller


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("/runs?stauts=failed", "There is no parameter stauts: did you mean status?"),
        ("/runs?limit=1&x=1", "There is no parameter x: /api/v1/docs lists them."),
        ("/agents/writer?version=1", "There is no parameter version: /api/v1/docs lists them."),
        ("/runs/0/files/content?pth=a", "There is no parameter pth: did you mean path?"),
        ("/memories/search?quary=tea", "There is no parameter quary: did you mean query?"),
        ("/runs/0/events?folow=false", "There is no parameter folow: did you mean follow?"),
    ],
)
def test_given_an_unknown_parameter_then_it_is_named(
    caller: Caller, address: str, sentence: str
) -> None:
    refused = caller.http.get(address)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_parameter")
    assert refused.json()["detail"] == sentence


def test_every_operation_with_a_caller_knows_its_parameters() -> None:
    known = parameters_by_route(ROUTERS)
    unchecked = {
        f"{method} {path}"
        for router in ROUTERS
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
        if method not in known[path.lstrip("/").replace("{", "<").replace("}", ">")]
    }
    signed = {"POST /inbound/{endpoint}", "POST /chat-apps/{events_token}/events"}
    assert unchecked == {"GET /health"} | signed, "a probe, and signed posts"


def test_given_the_parameters_of_an_operation_and_the_workspace_then_they_are_taken(
    caller: Caller,
) -> None:
    found = caller.get("/runs", status="failed", limit=1, workspace="a")
    assert found.json()["runs"] == []
    assert caller.http.post("/runs?task=a", json={"task": "t"}).status_code == 422
    assert caller.http.get("/agents?workspace=a").status_code == 200
