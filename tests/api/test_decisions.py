"""Approvals through the API: what was shown is what runs, and one decision wins."""

from __future__ import annotations

import concurrent.futures
from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Decision, Grant, ToolCall
from tests.fleet import wait_until
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.fleet import Worker

SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'


@pytest.fixture
def call(caller: Caller, worker: Worker) -> dict[str, Any]:
    """A call that waits for a person."""
    caller.submit(SUM, agent="analyst", require_approval=True)
    [found] = wait_until(lambda: caller.get("/approvals").json()["calls"], what="it waits")
    assert isinstance(found, dict)
    return found


def address(call: dict[str, Any]) -> str:
    return f"/runs/{call['run_id']}/calls/{call['call_id']}/decision"


def results(call: dict[str, Any]) -> list[tuple[str, str | None]]:
    rows = ToolCall.objects.filter(run_id=call["run_id"])
    return [(row.status, row.result) for row in rows]


def test_an_approved_call_runs_as_it_was_shown(caller: Caller, call: dict[str, Any]) -> None:
    assert (call["tool"], call["arguments"]) == ("calculate", {"expression": "6*7"})
    assert call["waiting_since"]
    decided = caller.post(address(call), {"digest": call["digest"], "verdict": "approve"})
    assert decided.status_code == 200, decided.text
    assert decided.json()["decided_by"] == "API key test"
    assert caller.ended(call["run_id"])["result"]["text"] == "Done."
    assert results(call) == [("ok", "42")]
    decision = Decision.objects.get(run_id=call["run_id"])
    assert (decision.verdict, decision.via) == ("approved", "api")


def test_decisions_are_listed_and_calls_by_their_run(
    caller: Caller, call: dict[str, Any], workspace: Workspace
) -> None:
    other = unserved(workspace)
    assert len(caller.get("/approvals").json()["calls"]) == 2
    for text in (call["run_id"], call["run_id"][:18]):
        [mine] = caller.get("/approvals", run=text).json()["calls"]
        assert (mine["run_id"], mine["wait_key"]) == (call["run_id"], "approval:1.0")
    assert caller.get("/uncertain-calls", run=str(other.run_id)).json()["calls"] == []
    assert caller.get("/approvals", run="00000000").status_code == 404
    body = {"digest": call["digest"], "verdict": "deny", "reason": "No."}
    assert caller.post(address(call), body).status_code == 200
    [made] = caller.get(f"/runs/{call['run_id']}/decisions").json()["decisions"]
    named = {name: made[name] for name in ("call_id", "verdict", "by", "via", "reason")}
    assert named == {
        "call_id": "1.0",
        "verdict": "denied",
        "by": "API key test",
        "via": "api",
        "reason": "No.",
    }
    state = caller.get(address(call), digest=call["digest"]).json()
    assert (state["state"], state["by"], state["via"]) == ("denied", "API key test", "api")
    assert caller.get(f"/runs/{other.run_id}/decisions").json()["decisions"] == []


def test_of_many_decisions_one_wins_and_the_others_hear_who(
    caller: Caller, call: dict[str, Any]
) -> None:
    bodies: list[dict[str, Any]] = [
        {"digest": call["digest"], "verdict": "approve"},
        {"digest": call["digest"], "verdict": "deny", "reason": "no"},
        {"digest": call["digest"], "verdict": "edit", "arguments": {"expression": "1+1"}},
    ] * 4
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        responses = list(pool.map(lambda body: caller.post(address(call), body), bodies))
    statuses = sorted(response.status_code for response in responses)
    assert statuses == [200] + [409] * 11
    late = next(response for response in responses if response.status_code == 409)
    assert "API key test" in late.json()["detail"]
    assert caller.ended(call["run_id"])["status"] == "succeeded"
    assert len(results(call)) == 1


def test_an_edited_call_runs_as_it_was_edited(caller: Caller, call: dict[str, Any]) -> None:
    wrong = {"digest": call["digest"], "verdict": "edit", "arguments": {"formula": "6*8"}}
    refused = caller.post(address(call), wrong)
    assert refused.status_code == 422
    assert refused.json()["code"] == "invalid_edit"
    right = {**wrong, "arguments": {"expression": "6*8"}}
    assert caller.post(address(call), right).json()["verdict"] == "edited"
    caller.ended(call["run_id"])
    assert results(call) == [("ok", "48")]


def test_what_was_not_shown_is_not_approved(caller: Caller, call: dict[str, Any]) -> None:
    other = caller.post(address(call), {"digest": "0" * 64, "verdict": "approve"})
    assert (other.status_code, other.json()["code"]) == (409, "call_closed")
    assert "was shown" in other.json()["detail"]
    nowhere = f"/runs/{call['run_id']}/calls/99.9/decision"
    absent = caller.post(nowhere, {"digest": call["digest"], "verdict": "approve"})
    assert absent.status_code == 404
    denied = {"digest": call["digest"], "verdict": "deny", "reason": "Too risky."}
    assert caller.post(address(call), denied).json()["verdict"] == "denied"
    caller.ended(call["run_id"])
    [(status, text)] = results(call)
    assert status == "refused"
    assert "Too risky." in (text or "")


def test_always_covers_the_next_call_too(caller: Caller, call: dict[str, Any]) -> None:
    body = {
        "digest": call["digest"],
        "verdict": "approve",
        "always": {"scope": "run", "until": "2099-01-01T00:00:00Z"},
    }
    assert caller.post(address(call), body).status_code == 200
    grant = Grant.objects.get(root_id=call["run_id"])
    assert (grant.tool, grant.granted_by) == ("calculate", "API key test")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"verdict": "approve", "reason": "x"}, "reason requires the verdict deny"),
        ({"verdict": "edit"}, "edit needs arguments"),
        ({"verdict": "deny", "always": {"scope": "run"}}, "always requires the verdict approve"),
        ({"verdict": "maybe"}, "The field verdict is not right"),
        ({"verdict": "approve", "digest": "short"}, "The field digest is not right"),
        (
            {"verdict": "approve", "always": {"scope": "run", "until": "2099-01-01T00:00:00"}},
            "The field always.until is not right",
        ),
        (
            {"verdict": "approve", "always": {"scope": "run", "until": "2001-01-01T10:00:00Z"}},
            "choose a later time",
        ),
        ({"verdict": "approve", "always": {}}, "always.scope"),
    ],
)
def test_a_decision_that_makes_no_sense_is_refused(
    caller: Caller, body: dict[str, Any], words: str
) -> None:
    run_id = caller.submit("x", agent="writer")["id"]
    response = caller.post(f"/runs/{run_id}/calls/1.0/decision", {"digest": "0" * 64, **body})
    assert response.status_code == 422
    assert words in response.json()["detail"]
