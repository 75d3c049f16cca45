"""Webhooks in: only signed ones, each once, and its task made of their fields."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from agents.actions.fleet import pause_work, resume_work
from agents.actions.receive_message import HOUR
from agents.actions.webhooks import rotate_secret
from agents.housekeeping.run_housekeeping import MESSAGES_KEPT, prune_inbound_messages
from agents.limits.pauses import of_workspace
from agents.models import Agent, Channel, Conversation, Delivery, InboundMessage, Run
from heartbit_site.base.audit import SYSTEM
from tests.api.conftest import caller  # noqa: F401  the fixture
from tests.inbound.posts import channel_of, post, sent, signed
from tests.quotas.limited import give_tier

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.fleet import Worker

TICKET = {
    "task": "Answer {ticket.subject}: {ticket.body}",
    "title": "{ticket.subject}",
    "conversation": "{ticket.id}",
    "sender": "{ticket.from?}",
    "only": {"type": ["ticket.created", "ticket.answered"]},
}


def ticket(number: int = 7, body: str = "[[text: Try again.]]", sender: str = "") -> dict[str, Any]:
    content = {"id": number, "subject": "Printer", "body": body, "from": sender}
    return {"type": "ticket.created", "ticket": content}


def text_of(ended: dict[str, Any]) -> Any:
    return ended["result"]["text"]


@pytest.fixture
def parked(workspace: Workspace) -> Workspace:
    """Nobody works there."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    return workspace


def test_given_signed_messages_then_a_run_answers_each_in_one_conversation(
    caller: Caller,  # noqa: F811
    workspace: Workspace,
    worker: Worker,
) -> None:
    channel, secret = channel_of(workspace, mapping=TICKET)
    first = post(caller, channel, secret, ticket(sender="ada@example.org"))
    assert (first.status_code, first.json()["duplicate"]) == (202, False)
    ended = caller.ended(first.json()["run_id"])
    assert (ended["status"], text_of(ended)) == ("succeeded", "Try again.")
    second = post(caller, channel, secret, ticket(body="It burns. [[text: Run.]]")).json()
    assert second["conversation_id"] == first.json()["conversation_id"]
    assert text_of(caller.ended(second["run_id"])) == "Run."
    other = post(caller, channel, secret, ticket(8)).json()
    assert other["conversation_id"] != second["conversation_id"]
    run = Run.objects.get(pk=second["run_id"])
    assert run.task == "Answer Printer: It burns. [[text: Run.]]"
    assert run.started_by == "channel tickets"
    thread = caller.get(f"/conversations/{second['conversation_id']}").json()
    assert thread["title"] == "Printer"
    log = caller.get(f"/channels/{channel.pk}/messages").json()["messages"]
    assert [one["run_id"] for one in log] == [
        other["run_id"],
        second["run_id"],
        first.json()["run_id"],
    ]
    assert (log[-1]["sender"], log[-1]["status"]) == ("ada@example.org", "accepted")


def test_given_a_message_again_then_nothing_is_done_twice(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked)
    first = post(caller, channel, secret, {"a": 1}, message_id="msg_1").json()
    again = post(caller, channel, secret, {"a": 2}, message_id="msg_1").json()
    assert again == {**first, "duplicate": True}
    assert Run.objects.filter(workspace=parked).count() == 1
    task = Run.objects.get(pk=first["run_id"]).task
    assert task.startswith('A message has come in by "tickets":\n\n```json\n{\n  "a": 1\n}')


def test_given_a_message_from_many_at_once_then_one_run_answers_it(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked)
    with ThreadPoolExecutor(8) as clients:
        sends = [
            clients.submit(post, caller, channel, secret, {"a": 1}, message_id="msg_many")
            for _ in range(24)
        ]
        found = [each.result() for each in sends]
    assert {one.status_code for one in found} == {202}
    assert sum(not one.json()["duplicate"] for one in found) == 1
    assert len({one.json()["run_id"] for one in found}) == 1
    assert Run.objects.filter(workspace=parked).count() == 1


def test_given_what_is_not_wanted_or_lacks_a_field_then_no_run_starts(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked, mapping=TICKET)
    unwanted = post(caller, channel, secret, {"type": "ticket.closed"})
    assert (unwanted.status_code, unwanted.json()["run_id"]) == (202, None)
    lacking = {"type": "ticket.created", "ticket": {"subject": "Printer"}}
    refused = post(caller, channel, secret, lacking, message_id="msg_2")
    assert (refused.status_code, refused.json()["code"]) == (422, "missing_field")
    assert "'ticket.body'" in refused.json()["detail"]
    much = {"type": "ticket.created", "ticket": {"id": 1, "subject": "x", "body": "x" * 130_000}}
    long = post(caller, channel, secret, much)
    assert long.json()["code"] == "message_too_long"
    broken = post(caller, channel, secret, b"{")
    assert (broken.status_code, broken.json()["code"]) == (400, "malformed_body")
    logged = caller.get(f"/channels/{channel.pk}/messages").json()["messages"]
    assert {(one["status"], one["run_id"]) for one in logged} == {("refused", None)}
    assert [one["reason"] for one in reversed(logged)] == [
        "`only` of the channel's mapping leaves the message out.",
        refused.json()["detail"],
        long.json()["detail"],
        broken.json()["detail"],
    ]
    post(caller, channel, secret, lacking, message_id="msg_2")
    assert InboundMessage.objects.filter(channel=channel).count() == 4, "each is logged once"
    # What was refused may come again when it is right.
    right = post(caller, channel, secret, ticket(), message_id="msg_2")
    assert (right.status_code, right.json()["duplicate"]) == (202, False)


def test_given_no_good_signature_then_a_message_is_as_little_known_as_its_channel(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked)
    _, foreign = channel_of(parked, name="other")
    body = b'{"a": 1}'
    good = signed(secret, body)
    wrong = {
        "another's secret": signed(foreign, body),
        "another body": signed(secret, b'{"a": 2}'),
        "an old one": signed(secret, body, age=301),
        "one of the future": signed(secret, body, age=-400),
        "another id": {**good, "webhook-id": "msg_other"},
        "another time": {**good, "webhook-timestamp": str(int(good["webhook-timestamp"]) - 1)},
        "no id": {name: value for name, value in good.items() if name != "webhook-id"},
        "no number": {**good, "webhook-timestamp": "now"},
        "no signature": {**good, "webhook-signature": ""},
        "another version": {**good, "webhook-signature": "v2" + good["webhook-signature"][2:]},
    }
    refusals = {
        what: sent(caller, channel.url_token, body, headers) for what, headers in wrong.items()
    }
    refusals["no channel"] = sent(caller, "x" * 32, body, good)
    for address in (channel.url_token, "x" * 32):
        assert sent(caller, address, b"x" * 3_000_000, good).status_code == 413
    assert {what: one.status_code for what, one in refusals.items()} == dict.fromkeys(refusals, 401)
    assert len({one.text for one in refusals.values()}) == 1
    assert not InboundMessage.objects.filter(channel=channel).exists()
    assert sent(caller, channel.url_token, body, good).status_code == 202


def test_given_a_new_secret_then_the_former_is_good_for_a_day(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, former = channel_of(parked)
    secret = rotate_secret(channel, by=SYSTEM)
    assert post(caller, channel, former, {}).status_code == 202
    assert post(caller, channel, secret, {}).status_code == 202
    Channel.objects.filter(pk=channel.pk).update(previous_secret_expires_at=timezone.now())
    assert post(caller, channel, former, {}).status_code == 401
    assert post(caller, channel, secret, {}).status_code == 202


def test_given_too_many_within_an_hour_then_the_next_waits(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked, hourly_limit=2)
    for _ in range(2):
        assert post(caller, channel, secret, {}).status_code == 202
    refused = post(caller, channel, secret, {}, message_id="msg_3")
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_messages")
    assert 3500 < int(refused.headers["Retry-After"]) <= 3600
    first = InboundMessage.objects.filter(channel=channel).earliest("pk")
    InboundMessage.objects.filter(pk=first.pk).update(
        received_at=timezone.now() - HOUR - timedelta(seconds=1)
    )
    assert post(caller, channel, secret, {}, message_id="msg_3").status_code == 202


def test_given_what_is_closed_then_messages_are_refused_and_may_come_again(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked)
    Channel.objects.filter(pk=channel.pk).update(enabled=False)
    closed = post(caller, channel, secret, {}, message_id="msg_4")
    assert (closed.status_code, closed.json()["code"]) == (409, "channel_closed")
    channel.refresh_from_db()
    assert "is disabled" in channel.last_error
    Channel.objects.filter(pk=channel.pk).update(enabled=True)
    held = of_workspace(parked)
    pause_work(held, by=SYSTEM)
    halted = post(caller, channel, secret, {}, message_id="msg_4")
    assert (halted.status_code, halted.json()["code"]) == (409, "channel_closed")
    resume_work(held, by=SYSTEM)
    Agent.objects.filter(workspace=parked, name="writer").update(enabled=False)
    stopped = post(caller, channel, secret, {}, message_id="msg_4")
    assert stopped.json() == halted.json(), "nobody outside learns how things stand inside"
    # What is wrong with a channel keeps nobody from switching it off.
    off = caller.http.patch(f"/channels/{channel.pk}", json={"enabled": False})
    assert (off.status_code, off.json()["enabled"]) == (200, False)
    Agent.objects.filter(workspace=parked, name="writer").update(enabled=True)
    Channel.objects.filter(pk=channel.pk).update(enabled=True)
    assert post(caller, channel, secret, {}, message_id="msg_4").json()["duplicate"] is False
    channel.refresh_from_db()
    assert channel.last_error == ""


def test_given_a_spent_quota_then_the_sender_waits_and_only_the_workspace_reads_why(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    give_tier(parked, runs_per_day=1)
    channel, secret = channel_of(parked)
    assert post(caller, channel, secret, {}).status_code == 202
    refused = post(caller, channel, secret, {}, message_id="msg_5")
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_messages")
    assert 0 < int(refused.headers["Retry-After"]) <= 24 * 3600
    channel.refresh_from_db()
    assert "1 run of today" in channel.last_error
    assert "today" not in refused.text
    give_tier(parked, runs_per_day=9)
    again = post(caller, channel, secret, {}, message_id="msg_5")
    assert (again.status_code, again.json()["duplicate"]) == (202, False)


def test_given_a_secret_that_cannot_be_read_then_no_message_is_taken(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked)
    other, _ = channel_of(parked, name="other")
    assert post(caller, channel, secret, {}).status_code == 202
    # A secret copied from another row cannot be decrypted.
    Channel.objects.filter(pk=channel.pk).update(secret=other.secret)
    refused = post(caller, channel, secret, {})
    assert (refused.status_code, refused.json()["code"]) == (401, "invalid_signature")
    assert InboundMessage.objects.filter(channel=channel).count() == 1


def test_given_long_conversation_names_then_their_ends_tell_them_apart(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked, mapping={"task": "x{note?}", "conversation": "{id}"})
    names = ["x" * 300 + "a", "x" * 300 + "b", "x" * 300 + "a"]
    first, other, again = (
        post(caller, channel, secret, {"id": name}).json()["conversation_id"] for name in names
    )
    assert first == again != other
    assert Conversation.objects.get(pk=first).title == "tickets", "no title is mapped"


def test_given_a_blank_task_then_no_conversation_begins(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked, mapping={"task": "{text?} "})
    refused = post(caller, channel, secret, {})
    assert (refused.status_code, refused.json()["code"]) == (422, "empty_task")
    assert not Conversation.objects.filter(workspace=parked).exists()
    [logged] = InboundMessage.objects.filter(channel=channel)
    assert (logged.status, logged.reason) == ("refused", refused.json()["detail"])


def test_given_signed_mails_then_those_of_strangers_are_logged_and_not_answered(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    channel, secret = channel_of(parked, name="mails", kind="email", senders=["@example.org"])
    mail = b"From: %s\r\nSubject: Paper\r\nMessage-ID: <1@x>\r\n\r\nIt jams.\r\n"
    taken, again, strange = (
        post(caller, channel, secret, mail % sender, content="message/rfc822")
        for sender in (b"ada@example.org", b"ada@example.org", b"eve@example.com")
    )
    assert [one.status_code for one in (taken, again, strange)] == [202] * 3
    assert again.json() == {**taken.json(), "duplicate": True}
    assert Run.objects.get(pk=taken.json()["run_id"]).task.endswith("It jams.")
    assert Delivery.objects.get(run_id=taken.json()["run_id"]).target["to"] == ["ada@example.org"]
    assert strange.json() == {"run_id": None, "conversation_id": None, "duplicate": False}
    refused, accepted = caller.get(f"/channels/{channel.pk}/messages").json()["messages"]
    assert (refused["status"], refused["sender"], refused["run_id"]) == (
        *("refused", "eve@example.com"),
        None,
    )
    assert "eve@example.com" in refused["reason"]
    assert (accepted["status"], accepted["reason"]) == ("accepted", "")
    broken = post(caller, channel, secret, b"no mail", content="message/rfc822")
    assert (broken.status_code, broken.json()["code"]) == (422, "unreadable_mail")


def test_given_targets_then_each_answer_is_ordered_for_them(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    to_ada = {"kind": "email", "to": ["ada@example.org"]}
    channel, secret = channel_of(parked, deliver=[to_ada], approve=True)
    run = post(caller, channel, secret, {}).json()["run_id"]
    assert Delivery.objects.get(run_id=run).target["to"] == ["ada@example.org"]
    assert Run.objects.get(pk=run).approve


def test_channels_are_made_changed_and_removed_over_the_api(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    form = {"name": "tickets", "kind": "webhook", "agent": "writer", "mapping": TICKET}
    made = caller.post("/channels", form)
    assert made.status_code == 201, made.text
    assert made.json()["secret"].startswith("whsec_")
    number, address = made.json()["id"], made.json()["url"].rpartition("/")[2]
    assert caller.post("/channels", form).json()["code"] == "channel_conflict"
    wrong: dict[str, dict[str, Any]] = {
        "there is no agent": {**form, "name": "x", "agent": "nobody"},
        "use task, title": {**form, "name": "x", "mapping": {"tasks": ""}},
        "Name the allowed senders": {**form, "name": "x", "kind": "email", "mapping": {}},
        "is not a valid sender": {
            **form,
            "name": "x",
            "kind": "email",
            "mapping": {},
            "senders": ["ada"],
        },
        "kind webhook has a mapping": {**form, "name": "x", "kind": "email", "senders": ["*"]},
    }
    for part, fields in wrong.items():
        refused = caller.post("/channels", fields)
        assert refused.status_code in (404, 422), refused.text
        assert part.lower() in refused.json()["detail"].lower(), refused.text
    changed = caller.http.patch(f"/channels/{number}", json={"enabled": False}).json()
    assert (changed["enabled"], changed["mapping"]["task"]) == (False, TICKET["task"])
    assert "secret" not in json.dumps(caller.get("/channels").json()).replace("previous_secret", "")
    rotated = caller.post(f"/channels/{number}/rotate-secret").json()
    assert rotated["secret"] != made.json()["secret"]
    assert (
        made.json()["previous_secret_expires_at"],
        bool(rotated["previous_secret_expires_at"]),
    ) == (
        None,
        True,
    )
    assert caller.http.delete(f"/channels/{number}").status_code == 204
    body = b"{}"
    assert sent(caller, address, body, signed(rotated["secret"], body)).status_code == 401


def test_given_a_mailbox_then_its_password_goes_nowhere_else(
    caller: Caller,  # noqa: F811
    parked: Workspace,
) -> None:
    mailbox = {"host": "imap.example.org", "user": "support", "password": "canary-9c1"}
    form = {"name": "support", "kind": "email", "agent": "writer", "senders": ["@example.org"]}
    lacking = caller.post("/channels", {**form, "mailbox": {"host": "x.org", "user": "u"}})
    assert "needs a user and a password" in lacking.json()["detail"]
    made = caller.post("/channels", {**form, "mailbox": mailbox})
    assert made.status_code == 201, made.text
    assert "canary" not in made.text
    path = f"/channels/{made.json()['id']}"
    elsewhere = {"host": "evil.example.com", "user": "support"}
    moved = caller.http.patch(path, json={"mailbox": elsewhere})
    assert (moved.status_code, "on another server" in moved.text) == (422, True)
    folder = caller.http.patch(path, json={"mailbox": {**elsewhere, "host": mailbox["host"]}})
    assert folder.status_code == 200, folder.text
    row = Channel.objects.get(pk=made.json()["id"])
    assert "canary" not in row.imap_password
    none = caller.http.patch(path, json={"mailbox": None}).json()
    assert none["mailbox"] is None


def test_what_came_in_is_forgotten_after_90_days(parked: Workspace) -> None:
    channel, _ = channel_of(parked)
    for age, name in ((MESSAGES_KEPT, "old"), (MESSAGES_KEPT - HOUR, "young")):
        InboundMessage.objects.create(
            channel=channel,
            external_id=name,
            status="refused",
            received_at=timezone.now() - age,
        )
    assert prune_inbound_messages() >= 1
    assert [row.external_id for row in channel.messages.all()] == ["young"]
