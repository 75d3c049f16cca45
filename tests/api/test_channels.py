"""Channels over the API: refused changes, missing rows, the limit, and removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.inbound.channels import MOST
from agents.models import Agent, Channel, Run
from tests.inbound.posts import channel_of, post
from tests.web.people import member

if TYPE_CHECKING:
    from typing import Any

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"name": "other"}, 409, "channel_conflict"),
        ({"name": ""}, 422, "validation"),
        ({"kind": "email"}, 422, "validation"),
        ({"agent": "nobody"}, 404, "agent_not_found"),
        ({"hourly_limit": 0}, 422, "validation"),
        ({"senders": ["*"]}, 422, "configuration"),
        ({"mapping": {"tasks": "x"}}, 422, "invalid_mapping"),
        ({"deliver": [{"kind": "email", "to": []}]}, 422, "invalid_targets"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_given_a_change_that_cannot_be_then_the_channel_stays_as_it_was(
    caller: Caller, workspace: Workspace, fields: dict[str, Any], status: int, code: str
) -> None:
    channel_of(workspace, name="other")
    channel, _ = channel_of(workspace)
    before = Channel.objects.filter(pk=channel.pk).values().get()
    refused = caller.http.patch(
        f"/channels/{channel.pk}", json={"require_approval": True, **fields}
    )
    assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
    assert Channel.objects.filter(pk=channel.pk).values().get() == before


@pytest.mark.parametrize("number", ["0", "x", "-1", "\u0667", str(2**63), "9" * 30])
def test_given_what_is_no_channel_then_it_is_not_found(caller: Caller, number: str) -> None:
    path = f"/channels/{number}"
    for answer in (
        caller.http.patch(path, json={"require_approval": True}),
        caller.http.delete(path),
        caller.post(f"{path}/rotate-secret"),
        caller.get(f"{path}/messages"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "channel_not_found")


def test_given_as_many_channels_as_there_may_be_then_one_more_is_refused(
    caller: Caller, workspace: Workspace
) -> None:
    maker = member(workspace)
    rows = (
        Channel(workspace=workspace, name=f"c{number}", kind="webhook", created_by=maker)
        for number in range(MOST)
    )
    Channel.objects.bulk_create(rows)
    body = {"name": "tickets", "kind": "webhook", "agent": "writer"}
    refused = caller.post("/channels", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "channel_conflict")
    newest = caller.get("/channels", limit=1).json()["channels"][0]
    assert (newest["name"], newest["created_by"]) == (f"c{MOST - 1}", maker.username)
    assert caller.http.delete(f"/channels/{newest['id']}").status_code == 204
    made = caller.post("/channels", body)
    assert (made.status_code, made.json()["created_by"]) == (201, None)


def test_given_a_removal_then_its_runs_and_conversations_stay(
    caller: Caller, workspace: Workspace
) -> None:
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    channel, secret = channel_of(workspace)
    taken = post(caller, channel, secret, {}).json()
    path = f"/channels/{channel.pk}"
    assert caller.http.delete(path).status_code == 204
    assert Run.objects.get(pk=taken["run_id"]).status == "queued"
    assert caller.get(f"/conversations/{taken['conversation_id']}").status_code == 200
    for answer in (caller.http.delete(path), caller.get(f"{path}/messages")):
        assert (answer.status_code, answer.json()["code"]) == (404, "channel_not_found")
