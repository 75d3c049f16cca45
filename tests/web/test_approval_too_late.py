"""Nothing is approved after a cancel, after its time, or by somebody who may not any more (R13).

What happens when they meet in the same moment is in ``tests/runs/test_decisions.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from agents.actions.decide_call import approve_call
from agents.actions.runs import cancel_run
from agents.approvals.links import token_of
from agents.errors import CallClosedError
from agents.models import Decision, Run, Wait
from heartbit_site.base.actions.api_keys import create_api_key
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Membership
from tests.sizes import sized
from tests.web.people import member, session_of
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

LATE = sized(20, full=200)
TOKEN = "c" * 32  # of the forms


def test_given_a_cancel_or_an_expiry_when_decided_after_it_then_nothing_is(
    workspace: Workspace, record_property: Callable[[str, object], None]
) -> None:
    record_property("cases", 2 * LATE)
    by = Actor("ann", "web")
    for _ in range(LATE):
        cancelled, expired = unserved(workspace), unserved(workspace)
        cancel_run(workspace, cancelled.run_id, reason="no")
        Wait.objects.filter(run=expired.run).update(expires_at="2000-01-01T00:00:00Z")
        for call in (cancelled, expired):
            try:
                approve_call(call, digest=call.digest, by=by)
            except CallClosedError:
                continue
            raise AssertionError("it was decided all the same")
        assert Run.objects.get(pk=cancelled.run_id).status == "cancelled"
        decided = Decision.objects.filter(run__in=[cancelled.run, expired.run])
        assert not decided.filter(decided_by=by.name).exists()


def test_given_a_role_that_was_lowered_when_its_person_decides_anywhere_then_they_are_refused(
    workspace: Workspace, site: WebServer
) -> None:
    user, call = member(workspace, "operator"), unserved(workspace)
    session, link = session_of(user), token_of(call, user.pk)
    _, key = create_api_key(workspace, "mine", scopes=["approvals:decide"], user=user)
    Membership.objects.filter(user=user).update(role="viewer")
    page = {
        "Cookie": f"sessionid={session}; csrftoken={TOKEN}",
        "X-CSRFToken": TOKEN,
        "Heartbit-Workspace": workspace.slug,
    }
    decision = f"/api/v1/runs/{call.run_id}/calls/{call.call_id}/decision"
    body = {"digest": call.digest, "verdict": "approve"}
    # S501: nothing here is encrypted, and reading the authorities takes longer than the requests.
    with httpx.Client(base_url=site.url, timeout=60, verify=False) as ask:  # noqa: S501
        answers = {
            "their page": ask.post(decision, json=body, headers=page),
            "their key": ask.post(decision, json=body, headers={"Authorization": f"Bearer {key}"}),
            "the link in their mail": ask.post(f"/approve/{link}/", data=body, headers=page),
        }
        seen = ask.get(f"/api/v1/runs/{call.run_id}", headers=page)
    assert {where: answer.status_code for where, answer in answers.items()} == {
        "their page": 403,
        "their key": 403,
        "the link in their mail": 409,
    }
    for where in ("their page", "their key"):
        assert answers[where].json()["scope"] == "approvals:decide"
    assert (seen.status_code, seen.json()["status"]) == (200, "waiting"), "looking is still theirs"
    assert not Decision.objects.filter(run=call.run).exists()
