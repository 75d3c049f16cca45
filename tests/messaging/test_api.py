"""People and programs write to agents over the API, and read what agents write to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.inbox import reply_to_message
from agents.actions.send_message import send_message
from agents.models import Run
from heartbit_site.base.models import AuditEntry
from tests.api.server import Caller, key_for
from tests.messaging.conftest import Writes, inbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer


@pytest.fixture
def caller(site: WebServer, unserved: Workspace) -> Iterator[Caller]:
    found = Caller(site, key_for(unserved))
    with found.http:
        yield found


def sent(caller: Caller, **body: Any) -> dict[str, Any]:
    response = caller.post("/messages", {"text": "Hello.", **body})
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


def listed(caller: Caller, **query: Any) -> list[str]:
    response = caller.get("/messages", **query)
    assert response.status_code == 200, response.text
    return [row["id"] for row in response.json()["messages"]]


def test_a_program_writes_to_an_inbox(caller: Caller, unserved: Workspace) -> None:
    message = sent(caller, to="writer", thread="order-17")
    assert (message["sender"], message["to"]) == ("person:API key test", "agent:writer")
    assert (message["kind"], message["number"], message["unread"]) == ("notification", 1, 1)
    [entry] = inbox(unserved, "writer")
    assert str(entry.message_id) == message["id"]
    told = AuditEntry.objects.get(chain=unserved.pk, action="message.send")
    assert (told.actor, told.via) == ("API key test", "api")


def test_a_program_gives_a_task_once(caller: Caller, unserved: Workspace) -> None:
    key = {"Idempotency-Key": "once"}
    body = {"text": "Write.", "to": "writer", "kind": "task"}
    first, second = (caller.post("/messages", body, **key).json() for _ in range(2))
    assert first == second
    run = Run.objects.get(workspace=unserved)
    assert (str(run.pk), run.started_by) == (first["run_id"], "API key test")


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Other."},
        {"to": "analyst"},
        {"thread": "u"},
        {"thread": ""},
        {"kind": "task", "thread": ""},
    ],
)
def test_a_key_that_was_used_for_another_message_is_refused(
    caller: Caller, unserved: Workspace, other: dict[str, str]
) -> None:
    key = {"Idempotency-Key": "once"}
    body = {"text": " Paid. ", "to": "Writer", "thread": "t"}
    first = caller.post("/messages", body, **key)
    assert caller.post("/messages", {**body, "to": "agent:writer"}, **key).json() == first.json()
    refused = caller.post("/messages", {**body, **other}, **key)
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_mismatch")
    assert f"used for message {first.json()['id']}" in refused.json()["detail"]


def test_a_reply_is_sent_once_for_a_key(caller: Caller, writes: Writes) -> None:
    one, two = (str(send_message(writes("writer"), "analyst", "x").pk) for _ in range(2))
    key = {"Idempotency-Key": "once"}
    first, again = (
        caller.post("/messages", {"text": "Yes.", "reply_to": one}, **key) for _ in range(2)
    )
    assert first.status_code == 201
    assert first.json() == again.json()
    refused = caller.post("/messages", {"text": "Yes.", "reply_to": two}, **key)
    assert refused.json()["code"] == "idempotency_mismatch"


def test_lists_are_inboxes_outboxes_and_threads(caller: Caller, writes: Writes) -> None:
    one = sent(caller, to="writer", thread="t")["id"]
    two = sent(caller, to="analyst", thread="t")["id"]
    everyone = sent(caller, to="broadcast")
    theirs = str(send_message(writes("writer"), "analyst", "x").pk)
    assert everyone["inboxes"] == 4
    assert listed(caller) == [theirs, everyone["id"], two, one]
    assert listed(caller, to="writer") == [everyone["id"], one]
    assert listed(caller, to="agent:analyst") == [theirs, everyone["id"], two]
    assert listed(caller, sender="writer") == [theirs]
    assert listed(caller, thread="t") == [two, one]
    assert listed(caller, kind="task") == []
    first = caller.get("/messages", limit=3).json()
    assert listed(caller, cursor=first["next_cursor"]) == [one]


def test_an_agent_s_answer_is_found_and_answered(caller: Caller, writes: Writes) -> None:
    message = sent(caller, to="writer")
    sender = writes("writer")
    reply = reply_to_message(sender, message["id"], "Yes?")
    assert listed(caller, to=message["sender"]) == [str(reply.pk)]
    again = sent(caller, reply_to=str(reply.pk), text="Go on.")
    assert (again["kind"], again["to"], again["number"]) == ("reply", "agent:writer", 3)
    assert again["in_reply_to"] == str(reply.pk)
    assert again["unread"] == 0, "the run that wrote it was told at once"


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"to": "riter"}, 404, "did you mean writer?"),
        ({"to": "system"}, 404, "no agent named 'system'"),
        ({"to": "person:ada"}, 422, "are answered"),
        ({"to": "broadcast", "kind": "task"}, 422, "one agent"),
        ({}, 422, "give either `to` or `reply_to`"),
        ({"to": "writer", "reply_to": "x"}, 422, "give either `to` or `reply_to`"),
        ({"reply_to": "x"}, 404, "There is no message 'x' to you"),
        ({"reply_to": "x", "kind": "task"}, 422, "a reply uses its message's thread"),
        ({"to": "writer", "kind": "task", "thread": "t"}, 422, "its own thread"),
        ({"to": "writer", "text": "  "}, 422, "say something"),
        ({"to": "writer", "text": "я" * 19_994}, 422, "takes 39,990 bytes in an inbox"),
    ],
)
def test_what_cannot_be_sent_says_why(
    caller: Caller, unserved: Workspace, body: dict[str, Any], status: int, says: str
) -> None:
    response = caller.post("/messages", {"text": "x", **body})
    assert (response.status_code, says in response.json()["detail"]) == (status, True), (
        response.text
    )
    assert inbox(unserved, "writer") == []
