"""Push notifications of A2A: each state of a task is posted to its receivers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
from a2a.types import StreamResponse, Task, TaskState
from a2a.utils.proto_utils import parse_lenient
from django.db.models.functions import Now

from agents.actions.task_pushes import send_task_pushes
from agents.models import Agent, TaskPush
from tests.api.server import key_for
from tests.askers import asker, script
from tests.fleet import wait_until
from tests.web.receiver import receiving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker
    from tests.web.receiver import Receiver

TOKEN, SECRET = "tok-canary", "secret-canary"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    with receiving() as opened:
        settings.HEARTBIT_HTTP_ALLOWLIST = f"127.0.0.1:{opened.port}"
        yield opened


class Client:
    """Calls methods of the agent that asks."""

    def __init__(self, web: WebServer, workspace: Workspace) -> None:
        self._url = f"{web.url}/a2a/asker"
        self._headers = {"Authorization": f"Bearer {key_for(workspace)}"}

    def ask(self, method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        found = httpx.post(self._url, json=body, headers=self._headers, timeout=60).json()
        return found.get("result", found.get("error", {}).get("message"))

    def send(self, text: str, *, task: str = "", **wishes: Any) -> Any:
        message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
        message |= {"taskId": task} if task else {}
        wishes = {"returnImmediately": True, **wishes}
        return self.ask("SendMessage", message=message, configuration=wishes)["task"]


@pytest.fixture
def client(web: WebServer, worker: Worker, workspace: Workspace) -> Client:
    asker(workspace)
    Agent.objects.filter(workspace=workspace).update(model="openai:fake")
    return Client(web, workspace)


def told(receiver: Receiver) -> list[Task]:
    """What the receiver was sent, read as the SDK reads it."""
    return [parse_lenient(json.loads(one.body), StreamResponse()).task for one in receiver.told]


def sent(receiver: Receiver, state: int) -> Task:
    """Send what is due until the receiver has a state; what it got with it."""

    def look() -> Task | None:
        send_task_pushes()
        return next((one for one in told(receiver) if one.status.state == state), None)

    found: Task = wait_until(look, seconds=60, what=f"state {state}")
    return found


def test_each_state_is_posted_and_the_answer(client: Client, receiver: Receiver) -> None:
    how = {"scheme": "Bearer", "credentials": SECRET}
    config = {"id": "mine", "url": receiver.url, "token": TOKEN, "authentication": how}
    task = client.send(script("Which colour?"), taskPushNotificationConfig=config)
    sent(receiver, TaskState.TASK_STATE_INPUT_REQUIRED)
    assert send_task_pushes() == 0
    client.send("red", task=task["id"], returnImmediately=False)
    done = sent(receiver, TaskState.TASK_STATE_COMPLETED)
    assert (done.id, done.context_id) == (task["id"], task["contextId"])
    assert done.artifacts[0].parts[0].text == "Done."
    assert send_task_pushes() == 0
    assert TaskPush.objects.get(run_id=task["id"]).status == "delivered"
    headers = receiver.told[-1].headers
    assert headers["x-a2a-notification-token"] == TOKEN
    assert headers["authorization"] == f"Bearer {SECRET}"


def test_what_does_not_arrive_is_sent_again(client: Client, receiver: Receiver) -> None:
    receiver.answers += [500]
    task = client.send("Hello.", returnImmediately=False)
    told_back = client.ask(
        "CreateTaskPushNotificationConfig", taskId=task["id"], url=receiver.url, token=TOKEN
    )
    assert told_back == {"id": task["id"], "taskId": task["id"], "url": receiver.url}
    assert send_task_pushes() == 0
    row = TaskPush.objects.get(run_id=task["id"])
    assert (row.status, row.attempts, row.error) == ("pending", 1, "It answered with HTTP 500.")
    assert TOKEN not in row.token
    assert send_task_pushes() == 0
    TaskPush.objects.filter(pk=row.pk).update(next_at=Now())
    assert send_task_pushes() == 1
    assert [one.status.state for one in told(receiver)] == [TaskState.TASK_STATE_COMPLETED] * 2


def test_receivers_are_listed_replaced_and_removed(client: Client, receiver: Receiver) -> None:
    task = client.send("Hello.", returnImmediately=False)["id"]
    for url in ("https://a.example/x", "https://b.example/x"):
        client.ask("CreateTaskPushNotificationConfig", taskId=task, id="mine", url=url)
    one = {"id": "mine", "taskId": task, "url": "https://b.example/x"}
    assert client.ask("GetTaskPushNotificationConfig", taskId=task, id="mine") == one
    assert client.ask("ListTaskPushNotificationConfigs", taskId=task) == {"configs": [one]}
    assert client.ask("DeleteTaskPushNotificationConfig", taskId=task, id="mine") == {}
    assert client.ask("ListTaskPushNotificationConfigs", taskId=task) == {"configs": []}
    said = client.ask("GetTaskPushNotificationConfig", taskId=task, id="mine")
    assert said == "The task has no push notification config 'mine'."
    for url, fault in (("ftp://x", "URL of the receiver"), ("https://u:p@x", "URL of the rec")):
        assert fault in client.ask("CreateTaskPushNotificationConfig", taskId=task, url=url)
    bad = {"taskId": task, "url": "https://x.example", "token": "a\nb"}
    assert "The token of the receiver" in client.ask("CreateTaskPushNotificationConfig", **bad)
