"""Calls of unknown outcome through the API: what is in doubt is listed, and one word wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Decision, Run, Wait
from tests.doubtful import ARGUMENTS, in_doubt

if TYPE_CHECKING:
    from agents.models import ToolCall
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller


def address(call: ToolCall) -> str:
    return f"/runs/{call.run_id}/calls/{call.call_id}/outcome"


def test_what_is_in_doubt_is_listed_until_somebody_settles_it(
    caller: Caller, workspace: Workspace
) -> None:
    call = in_doubt(workspace)
    [found] = caller.get("/uncertain-calls").json()["calls"]
    assert (found["run_id"], found["call_id"], found["tool"]) == (
        str(call.run_id),
        "1.0",
        "http_request",
    )
    assert (found["arguments"], found["question"]) == (ARGUMENTS, "outcome:1.0:1")
    assert found["waiting_since"]
    assert caller.get("/approvals").json()["calls"] == []
    settled = caller.post(address(call), {"outcome": "confirm", "result": "Sent."})
    assert settled.status_code == 200, settled.text
    assert settled.json()["resolved_by"] == "API key test"
    assert caller.get("/uncertain-calls").json()["calls"] == []
    decision = Decision.objects.get(run=call.run_id)
    assert (decision.verdict, decision.via, decision.reason) == ("confirmed", "api", "Sent.")
    wait = Wait.objects.get(run=call.run_id)
    assert (wait.value or {})["result"] == "Sent."
    assert Run.objects.get(pk=call.run_id).status == "queued"


def test_whoever_is_late_hears_who_was_quicker(caller: Caller, workspace: Workspace) -> None:
    call = in_doubt(workspace)
    assert caller.post(address(call), {"outcome": "skip"}).status_code == 200
    late = caller.post(address(call), {"outcome": "retry"})
    assert late.status_code == 409
    assert "already skipped by API key test" in late.json()["detail"]


def test_a_call_that_is_not_in_doubt_cannot_be_settled(
    caller: Caller, workspace: Workspace
) -> None:
    call = in_doubt(workspace)
    nowhere = caller.post(f"/runs/{call.run_id}/calls/7.0/outcome", {"outcome": "confirm"})
    assert nowhere.status_code == 404
    caller.post(f"/runs/{call.run_id}/cancel")
    ended = caller.post(address(call), {"outcome": "retry"})
    assert ended.status_code == 409


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"outcome": "retry", "result": "x"}, "result requires the outcome confirm"),
        ({"outcome": "maybe"}, "The field outcome is not right"),
        ({}, "The field outcome is missing"),
    ],
)
def test_a_word_that_makes_no_sense_is_refused(
    caller: Caller, body: dict[str, Any], words: str
) -> None:
    run_id = caller.submit("x", agent="writer")["id"]
    response = caller.post(f"/runs/{run_id}/calls/1.0/outcome", body)
    assert response.status_code == 422
    assert words in response.json()["detail"]
