"""Waiting for a run: in the request that starts it, and in one of its own."""

from __future__ import annotations

import concurrent.futures
import secrets
import time
from typing import TYPE_CHECKING

import httpx
import pytest

from agents.models import Agent, Run
from heartbit_site.base.models import Workspace
from tests.api.server import key_for

if TYPE_CHECKING:
    from tests.api.server import Caller, WebServer
    from tests.fleet import Worker


@pytest.fixture
def parked(workspace: Workspace) -> str:
    """An agent whose queue nobody serves: its runs stay where they are."""
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    return "writer"


class TestWhoStartsMayWait:
    def test_the_answer_has_the_result(self, caller: Caller, worker: Worker) -> None:
        body = {"task": "[[text: Done.]]", "agent": "writer", "model": "openai:fake"}
        response = caller.http.post("/runs", params={"wait": 30}, json=body)
        assert response.status_code == 201, response.text
        run = response.json()
        assert run["status"] == "succeeded"
        assert run["result"]["text"] == "Done."
        assert run["result"] == caller.ended(run["id"])["result"]

    def test_a_run_that_takes_longer_is_answered_without_one(
        self, caller: Caller, parked: str
    ) -> None:
        body = {"task": "x", "agent": parked}
        response = caller.http.post("/runs", params={"wait": 0.2}, json=body)
        assert response.status_code == 202
        run = response.json()
        assert (run["status"], run["result"]) == ("queued", None)
        assert Run.objects.filter(pk=run["id"]).exists()

    def test_a_key_used_again_waits_for_the_same_run(self, caller: Caller, parked: str) -> None:
        body, key = {"task": "x", "agent": parked}, {"Idempotency-Key": "one"}
        first = caller.post("/runs", body, **key).json()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            again = pool.submit(
                caller.http.post, "/runs", params={"wait": 30}, json=body, headers=key
            )
            time.sleep(0.5)
            assert caller.post(f"/runs/{first['id']}/cancel").status_code == 200
            response = again.result()
        assert response.status_code == 200
        assert (response.json()["id"], response.json()["status"]) == (first["id"], "cancelled")

    def test_not_longer_than_a_minute(self, caller: Caller, parked: str) -> None:
        body = {"task": "x", "agent": parked}
        assert caller.http.post("/runs", params={"wait": 61}, json=body).status_code == 422
        assert caller.get("/runs").json()["runs"] == []


def test_a_run_cancelled_elsewhere_is_told_to_all_who_wait(caller: Caller, parked: str) -> None:
    run = caller.submit("x", agent=parked)["id"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(caller.get, f"/runs/{run[:13]}/result", wait=30) for _ in range(8)]
        time.sleep(0.5)
        caller.post(f"/runs/{run}/cancel")
        answers = [one.result() for one in waiting]
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["status"] for answer in answers} == {"cancelled"}


def test_another_workspaces_run_is_not_waited_for(
    caller: Caller, parked: str, web: WebServer, foreign_key: str
) -> None:
    run = caller.submit("x", agent=parked)["id"]
    headers = {"Authorization": f"Bearer {foreign_key}"}
    address = f"{web.url}/api/v1/runs/{run}/result"
    found = httpx.get(address, params={"wait": 30}, headers=headers)
    assert found.status_code == 404


@pytest.fixture
def foreign_key(database: None) -> str:
    """A key of another workspace."""
    slug = f"t-{secrets.token_hex(4)}"
    return key_for(Workspace.objects.create(slug=slug, name=slug))


def test_programs_get_the_headers_that_pages_get(caller: Caller, web: WebServer) -> None:
    without_key = httpx.get(f"{web.url}/api/v1/runs")
    with_key = caller.get("/runs")
    assert (without_key.status_code, with_key.status_code) == (401, 200)
    for name in (
        "Content-Security-Policy",
        "X-Frame-Options",
        "X-Content-Type-Options",
        "Referrer-Policy",
        "Cross-Origin-Opener-Policy",
    ):
        shown = [sorted(each.headers[name].split("; ")) for each in (without_key, with_key)]
        assert shown[0] == shown[1], name
    assert "Set-Cookie" not in with_key.headers


def test_programs_may_not_use_a_foreign_host(caller: Caller) -> None:
    assert caller.http.get("/runs", headers={"Host": "evil.example"}).status_code == 400
