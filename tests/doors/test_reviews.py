"""Results that people review: clients get nothing of them before, and then what was approved."""

from __future__ import annotations

import concurrent.futures
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from a2a.types import GetTaskRequest, TaskState

from agents.actions.publish_agent import publish_agent
from agents.models import Agent
from heartbit_site.base import orm
from tests.api.server import key_for
from tests.doors.agui_client import FrontEnd, of_type, text_of
from tests.doors.test_a2a import WORKER, Door, answer_of, door, message, told
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from openai import OpenAI

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller, WebServer

__all__ = ["door"]

TASK = "[[text: SECRET unreviewed answer]] [[stream: 200]]"


@pytest.fixture(autouse=True)
def writer(client: OpenAI, workspace: Workspace) -> Agent:
    """The writer, whose results people review."""
    found = Agent.objects.get(workspace=workspace, name="writer")
    found.review = "anyone"
    found.save()
    publish_agent(found)
    return found


def waiting(caller: Caller) -> dict[str, Any]:
    [wait] = wait_until(lambda: caller.get("/waits").json()["waits"], what="a review")
    found: dict[str, Any] = wait
    return found


def edit(caller: Caller, result: Any) -> None:
    wait = waiting(caller)
    answer = {"answer": {"decision": "edit", "result": result}}
    decided = caller.post(f"/runs/{wait['run_id']}/waits/{wait['key']}", answer)
    assert decided.status_code == 200, decided.text


def edited(caller: Caller, ask: Callable[[], list[Any]], result: Any = "Approved.") -> list[Any]:
    """Return what a client hears of a run whose result is edited meanwhile."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        heard = pool.submit(ask)
        edit(caller, result)
        return heard.result(60)


def test_a_streamed_completion_says_what_was_approved(client: OpenAI, caller: Caller) -> None:
    def ask() -> list[Any]:
        messages: Any = [{"role": "user", "content": TASK}]
        chunks = client.chat.completions.create(model="writer", messages=messages, stream=True)
        return [one.choices[0].delta.content for one in chunks if one.choices]

    assert "".join(filter(None, edited(caller, ask))) == "Approved."


def test_a_streamed_response_says_what_was_approved(client: OpenAI, caller: Caller) -> None:
    def ask() -> list[Any]:
        events = client.responses.create(model="writer", input=TASK, stream=True)
        return [one.to_json() for one in events]

    events = edited(caller, ask)
    assert "SECRET" not in "".join(events)
    assert json.loads(events[-1])["response"]["output"][0]["content"][0]["text"] == "Approved."


def test_a_rejected_result_is_not_said(client: OpenAI, caller: Caller) -> None:
    def ask() -> str:
        body = {"model": "writer", "stream": True, "messages": [{"role": "user", "content": TASK}]}
        headers = {"Authorization": f"Bearer {caller.key}"}
        address = f"{client.base_url}chat/completions"
        return httpx.post(address, json=body, headers=headers, timeout=60).text

    with concurrent.futures.ThreadPoolExecutor() as pool:
        heard = pool.submit(ask)
        wait = waiting(caller)
        answer = {"answer": {"decision": "reject", "message": "No."}}
        caller.post(f"/runs/{wait['run_id']}/waits/{wait['key']}", answer)
        said = heard.result(60)
    assert "SECRET" not in said
    assert "rejected the result: No." in said


@pytest.mark.parametrize("has_schema", [False, True])
def test_a_front_end_hears_what_was_approved(
    web: WebServer, workspace: Workspace, caller: Caller, writer: Agent, *, has_schema: bool
) -> None:
    task, said = TASK, "Approved."
    result: Any = said
    if has_schema:
        writer.response_schema = {"type": "object", "properties": {"total": {"type": "string"}}}
        writer.save()
        publish_agent(writer)
        task = '[[calls: __respond__ {"total": "SECRET"}]]'
        result, said = {"total": "7"}, '{"total": "7"}'
    page = FrontEnd(web.url, key_for(workspace), "writer", "t1")
    events = edited(caller, partial(page.say, task, "r1"), result)
    assert "SECRET" not in json.dumps(events)
    assert (json.loads(text_of(events)) if has_schema else text_of(events)) == (
        json.loads(said) if has_schema else said
    )
    assert events[-1]["result"] == result
    assert not of_type(events, "TOOL_CALL_START")


async def test_a_task_under_review_shows_its_result_to_those_who_decide(
    door: Door, caller: Caller
) -> None:
    async with door.client("writer", scopes=WORKER) as client:
        *_, rests = await told(client, message(TASK))
        assert rests.status_update.status.state == TaskState.TASK_STATE_AUTH_REQUIRED
        assert "A person reviews" in str(rests)
        assert "SECRET" not in str(rests)
        task_id = rests.status_update.task_id
        async with door.client("writer") as decider:
            seen = await decider.get_task(GetTaskRequest(id=task_id))
            assert "SECRET unreviewed answer" in str(seen.status)
        await orm.run_in_thread(partial(edit, caller, "Approved."))
        await orm.run_in_thread(partial(caller.ended, task_id))
        task = await client.get_task(GetTaskRequest(id=task_id))
        assert answer_of(task) == "Approved."
