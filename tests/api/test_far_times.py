"""Times beyond the calendar are refused by the API, wherever one is taken, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from heartbit_site.api.mount import api

if TYPE_CHECKING:
    from tests.api.server import Caller

#: Beyond the year 9999 or before the year 1, once their offset is taken off.
FAR = ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z"]
DIGEST = "0" * 64
WHERE: dict[str, Any] = {"agent": "writer", "name": "far", "task": "x"}
BODIES: dict[str, dict[str, Any]] = {
    "/runs/00000000-0000-4000-8000-000000000000/calls/1.0/decision": {
        "digest": DIGEST,
        "verdict": "approve",
        "always": {"scope": "run", "until": ...},
    },
    "/schedules": {**WHERE, "at": ...},
    "/schedules/preview": {"at": ...},
}


def parameters() -> list[tuple[str, str]]:
    """Path and name of each parameter that may be a time; to describe the API takes seconds."""
    described: dict[str, Any] = api.get_openapi_schema(path_prefix="")["paths"]
    return [
        (path, parameter["name"])
        for path, operations in described.items()
        for parameter in operations.get("get", {}).get("parameters", [])
        if parameter["name"] in {"cursor", "since", "until"} and "{" not in path
    ]


def filled(value: Any, moment: str) -> Any:
    """The body with the time where it goes."""
    if isinstance(value, dict):
        return {name: filled(one, moment) for name, one in value.items()}
    return moment if value is ... else value


@pytest.mark.parametrize("moment", FAR)
def test_given_a_far_time_in_an_address_then_it_is_refused(caller: Caller, moment: str) -> None:
    found = parameters()
    assert ("/audit", "since") in found
    for path, name in found:
        response = caller.get(path, **{name: moment})
        if path == "/me/keys":  # this key is no person's
            assert response.status_code == 409
            continue
        # Of a list whose places are names, a time is a name that is not there.
        assert response.status_code in {200, 404, 422}, (path, name, response.text)
        if name != "cursor":
            assert (response.status_code, response.json()["code"]) == (422, "validation"), path


@pytest.mark.parametrize("moment", FAR)
@pytest.mark.parametrize("path", BODIES)
def test_given_a_far_time_in_a_body_then_it_is_refused(
    caller: Caller, path: str, moment: str
) -> None:
    response = caller.post(path, filled(BODIES[path], moment))
    assert (response.status_code, response.json()["code"]) == (422, "validation")
    assert moment not in response.json()["detail"]


@pytest.mark.parametrize("offset", ["+23:59", "-23:59", "+16:00", "-16:00", "Z"])
def test_given_an_offset_that_the_database_does_not_know_then_the_time_is_taken(
    caller: Caller, offset: str
) -> None:
    assert caller.get("/audit", since=f"0002-01-02T23:59:59{offset}").status_code == 200
    assert caller.get("/audit", until=f"9998-12-30T00:00:00{offset}").status_code == 200
    plan = caller.post("/schedules", {**WHERE, "at": f"2190-01-01T00:00:00{offset}"})
    assert plan.status_code == 201, plan.text
    assert caller.get(f"/schedules/{plan.json()['id']}").status_code == 200
