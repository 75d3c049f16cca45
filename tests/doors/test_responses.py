"""The Responses API: create, stream, retrieve, cancel, continue."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import openai
import pytest
from httpx_sse import EventSource

from agents.models import Agent, Conversation, Run
from tests.doors.open_responses import check_event, check_response
from tests.fleet import wait_until

if TYPE_CHECKING:
    from openai import OpenAI

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller, WebServer


def run_of(response_id: str) -> Run:
    return Run.objects.get(pk=response_id.removeprefix("resp_"))


def test_a_response_is_a_run_and_is_retrieved_again(client: OpenAI) -> None:
    found = client.responses.create(
        model="writer", input="[[text: Done.]]", metadata={"order": "17"}
    )
    assert (found.status, found.output_text) == ("completed", "Done.")
    assert run_of(found.id).status == "succeeded"
    again = client.responses.retrieve(found.id)
    assert again == found
    assert again.metadata == {"order": "17"}


def test_responses_continue_and_branch(client: OpenAI, caller: Caller) -> None:
    def said_before(response_id: str) -> list[str]:
        turn = caller.http.get(f"/runs/{run_of(response_id).pk}/turns/1").json()["request"]
        return [one["text"] for one in turn["messages"]]

    first = client.responses.create(model="writer", input="One. [[text: 1]]")
    second = client.responses.create(
        model="writer", input="Two. [[text: 2]]", previous_response_id=first.id
    )
    branch = client.responses.create(
        model="writer", input="Other. [[text: 3]]", previous_response_id=first.id
    )
    after = client.responses.create(
        model="writer", input="After. [[text: 4]]", previous_response_id=branch.id
    )
    begin = ["One. [[text: 1]]", "1"]
    assert said_before(second.id) == [*begin, "Two. [[text: 2]]"]
    assert said_before(branch.id) == [*begin, "Other. [[text: 3]]"]
    assert said_before(after.id) == [*begin, "Other. [[text: 3]]", "3", "After. [[text: 4]]"]
    assert run_of(second.id).conversation_id == run_of(first.id).conversation_id is not None
    assert second.previous_response_id == first.id


def test_events_tell_the_same_as_the_response(client: OpenAI) -> None:
    events = list(
        client.responses.create(
            model="writer", input="[[text: one two three]] [[stream: 200]]", stream=True
        )
    )
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [one.delta for one in events if one.type == "response.output_text.delta"]
    assert "".join(deltas) == "one two three"
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == "one two three"
    rest = list(client.responses.retrieve(last.response.id, stream=True, starting_after=3))
    assert rest[0].sequence_number == 4
    assert rest[-1].type == "response.completed"


def test_everything_has_the_form_of_open_responses(web: WebServer, client: OpenAI) -> None:
    address = f"{web.url}/v1/responses"
    headers = {"Authorization": f"Bearer {client.api_key}"}
    tool = {"type": "function", "name": "look", "description": "Look.", "parameters": None}
    body = {"model": "writer", "input": "[[calls: look {}]]", "stream": True, "tools": [tool]}
    kinds = []
    with (
        httpx.Client(headers=headers, timeout=60) as http,
        http.stream("POST", address, json=body) as response,
    ):
        for event in EventSource(response).iter_sse():
            content = json.loads(event.data)
            check_event(content)
            kinds.append(content["type"])
    assert kinds[-1] == "response.completed"
    assert "response.function_call_arguments.done" in kinds
    check_response(content["response"])
    found = httpx.get(f"{address}/{content['response']['id']}", headers=headers)
    check_response(found.json())


def test_a_response_in_the_background_is_cancelled(client: OpenAI, workspace: Workspace) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    found = client.responses.create(model="writer", input="Wait.", background=True)
    assert (found.status, found.background) == ("queued", True)
    assert client.responses.cancel(found.id).status == "cancelled"
    assert client.responses.retrieve(found.id).status == "cancelled"


def test_another_try_gets_the_response_of_the_first(client: OpenAI) -> None:
    def ask(**headers: str) -> str:
        text = "[[text: Once.]]"
        return client.responses.create(model="writer", input=text, extra_headers=headers).id

    first, keyed = ask(), ask(**{"Idempotency-Key": "one"})
    assert ask(**{"x-stainless-retry-count": "1"}) == first != keyed
    assert ask(**{"Idempotency-Key": "one"}) == keyed


def test_a_response_of_another_workspace_is_not_found(client: OpenAI) -> None:
    for name in ("resp_0", "x", "resp_" + "0" * 32):
        with pytest.raises(openai.NotFoundError, match="There is no response"):
            client.responses.retrieve(name)


def test_what_is_not_stored_begins_no_conversation(client: OpenAI, workspace: Workspace) -> None:
    before = Conversation.objects.filter(workspace=workspace).count()
    found = client.responses.create(model="writer", input="[[text: Done.]]", store=False)
    wait_until(lambda: run_of(found.id).status == "succeeded")
    assert Conversation.objects.filter(workspace=workspace).count() == before
