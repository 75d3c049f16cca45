"""A client of each protocol: it asks an agent, answers what the run asks, and hears the end.

Each request is sent until it is answered, as clients do whose connection breaks; its ids stay the
same. An answer that is no success is an error of the door.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import httpx
from httpx_sse import EventSource

from tests.chaos.journals import CAREFUL

#: A web process is back much sooner.
GIVE_UP_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 0.2
_VERSION: Final = "2026-07-28"
_NO_MORE: Final = 409  # somebody, or this client's lost request, was first


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a run; ``is_outcome``: it asks what became of a call, else for approval."""

    key: str
    is_outcome: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as its client sees it: the answer at the end, or what is asked, or neither."""

    answer: str | None = None
    asked: tuple[Asked, ...] = ()


class DoorError(Exception):
    """A door answered otherwise than with success."""


class Client(ABC):
    """A client with one run.

    Args:
        url: Address of the web process, which does not change.
        key: API key.
        name: Name of the run, which no other client uses.
    """

    protocol: ClassVar[str]

    def __init__(self, url: str, key: str, name: str) -> None:
        self.name = name
        headers = {"Authorization": f"Bearer {key}"}
        # Without certificates, whose loading takes longer than most requests here.
        self.http = httpx.Client(base_url=url, headers=headers, timeout=30, verify=False)  # noqa: S501

    @abstractmethod
    def ask(self, task: str) -> None:
        """Start the run."""

    @abstractmethod
    def look(self) -> Seen:
        """Return the run as it is now."""

    @abstractmethod
    def answer(self, asked: Asked, outcome: str = "") -> None:
        """Approve a call; or say with ``outcome`` what became of it: retry or confirm."""

    def send(self, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request until it is answered; None: it came too late."""
        until = time.monotonic() + GIVE_UP_SECONDS
        while True:
            try:
                return self._sent(path, body, headers)
            except httpx.TransportError:
                if time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_SECONDS)

    def _sent(self, path: str, body: Any, headers: dict[str, str]) -> Any:
        method = "GET" if body is None else "POST"
        with self.http.stream(method, path, json=body, headers=headers) as response:
            if response.status_code == _NO_MORE:
                return None
            if response.status_code >= 400:
                text = response.read().decode()[:500]
                raise DoorError(f"{self.name}: {method} {path}: {response.status_code} {text}")
            if response.headers["Content-Type"].startswith("text/event-stream"):
                return [json.loads(one.data) for one in EventSource(response).iter_sse()]
            response.read()
            found = response.json()
        if isinstance(found, dict) and found.get("error"):
            raise DoorError(f"{self.name}: {method} {path}: {found['error']}")
        return found


class OpenAiClient(Client):
    """Responses in the background; OpenAI's protocol has no approvals, so REST decides them."""

    protocol = "openai"

    def ask(self, task: str) -> None:
        body = {"model": CAREFUL, "input": task, "background": True}
        self._id = self.send("/v1/responses", body, **{"Idempotency-Key": self.name})["id"]
        self._run = self._id.removeprefix("resp_")

    def look(self) -> Seen:
        found = self.send(f"/v1/responses/{self._id}")
        if found["status"] == "completed":
            return Seen(found["output"][-1]["content"][0]["text"])
        of_run = f"?run={self._run}"
        calls = self.send(f"/api/v1/approvals{of_run}")["calls"]
        doubts = self.send(f"/api/v1/uncertain-calls{of_run}")["calls"]
        self._digests = {one["call_id"]: one["digest"] for one in calls}
        asked = [Asked(one["call_id"], is_outcome=False) for one in calls]
        return Seen(asked=(*asked, *(Asked(one["call_id"], is_outcome=True) for one in doubts)))

    def answer(self, asked: Asked, outcome: str = "") -> None:
        call = f"/api/v1/runs/{self._run}/calls/{asked.key}"
        if outcome:
            self.send(f"{call}/outcome", {"outcome": outcome})
        else:
            digest = self._digests[asked.key]
            self.send(f"{call}/decision", {"verdict": "approve", "digest": digest})


class McpClient(Client):
    """A durable task, answered by ``tasks/update``."""

    protocol = "mcp"

    def ask(self, task: str) -> None:
        given = {"name": CAREFUL, "arguments": {"task": task}}
        self._task = self._rpc("tools/call", CAREFUL, **given)["taskId"]

    def look(self) -> Seen:
        found = self._rpc("tasks/get", self._task, taskId=self._task)
        if found["status"] == "completed":
            return Seen(found["result"]["content"][0]["text"])
        if found["status"] in ("failed", "cancelled"):
            raise DoorError(f"{self.name}: {found}")
        return Seen(
            asked=tuple(
                Asked(key, "outcome" in one["params"]["requestedSchema"]["properties"])
                for key, one in found.get("inputRequests", {}).items()
            )
        )

    def answer(self, asked: Asked, outcome: str = "") -> None:
        content = {"outcome": outcome} if outcome else {"decision": "approve"}
        responses = {asked.key: {"action": "accept", "content": content}}
        self._rpc("tasks/update", self._task, taskId=self._task, inputResponses=responses)

    def _rpc(self, method: str, name: str, /, **params: Any) -> Any:
        prefix = "io.modelcontextprotocol/"
        meta = {
            f"{prefix}protocolVersion": _VERSION,
            f"{prefix}clientCapabilities": {"extensions": {f"{prefix}tasks": {}}},
            "heartbit/idempotencyKey": self.name,
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _VERSION,
            "MCP-Method": method,
            "MCP-Name": name,
        }
        params["_meta"] = meta
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        found = self.send("/mcp", body, **headers)
        message = found[-1] if isinstance(found, list) else found
        if "error" in message:
            raise DoorError(f"{self.name}: {method}: {message['error']}")
        return message["result"]


class A2AClient(Client):
    """A task, answered by messages with the key of what it asks."""

    protocol = "a2a"

    def ask(self, task: str) -> None:
        sent = {"messageId": self.name, "role": "ROLE_USER", "parts": [{"text": task}]}
        configuration = {"returnImmediately": True}
        found = self._rpc("SendMessage", {"message": sent, "configuration": configuration})
        self._task = found["task"]["id"]

    def look(self) -> Seen:
        found = self._rpc("GetTask", {"id": self._task})
        state = found["status"]["state"]
        if state == "TASK_STATE_COMPLETED":
            return Seen(found["artifacts"][0]["parts"][0]["text"])
        if state != "TASK_STATE_INPUT_REQUIRED":
            if state not in ("TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"):
                raise DoorError(f"{self.name}: {found}")
            return Seen()
        asks = found["status"]["message"]["parts"][-1]["data"]["asks"]
        return Seen(asked=tuple(Asked(one["key"], one["schema"] is not None) for one in asks))

    def answer(self, asked: Asked, outcome: str = "") -> None:
        said = {"outcome": outcome} if outcome else {"verdict": "approve"}
        sent = {
            "messageId": f"{self.name}:{asked.key}",
            "taskId": self._task,
            "role": "ROLE_USER",
            "parts": [{"data": {"key": asked.key, **said}}],
        }
        body = {"message": sent, "configuration": {"returnImmediately": True}}
        self._rpc("SendMessage", body)

    def _rpc(self, method: str, params: dict[str, Any]) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.send(f"/a2a/{CAREFUL}", body, **{"A2A-Version": "1.0"})["result"]


class AgUiClient(Client):
    """A thread; each look is a stream until the run ends or asks, with the answers given so far."""

    protocol = "ag-ui"

    def ask(self, task: str) -> None:
        self._messages = [{"id": "1", "role": "user", "content": task}]
        self._resume: list[dict[str, Any]] = []
        self._round = 0

    def look(self) -> Seen:
        events = self.send(
            f"/agui/{CAREFUL}",
            {
                "threadId": self.name,
                "runId": f"{self.name}:{self._round}",
                "messages": self._messages,
                **{name: [] for name in ("tools", "context")},
                **({"resume": self._resume} if self._resume else {}),
            },
        )
        if not events or events[-1]["type"] == "RUN_ERROR":
            if events:
                raise DoorError(f"{self.name}: {events[-1]}")
            return Seen()
        end = events[-1]
        if end["type"] != "RUN_FINISHED":
            return Seen()  # the web process has died; the same request is sent again
        if end["outcome"]["type"] == "interrupt":
            asked = end["outcome"]["interrupts"]
            self._resume = []
            return Seen(
                asked=tuple(Asked(one["id"], one["reason"] == "heartbit:outcome") for one in asked)
            )
        return Seen(str(end["result"]))

    def answer(self, asked: Asked, outcome: str = "") -> None:
        payload: dict[str, Any] = {"outcome": outcome} if outcome else {"approved": True}
        self._resume.append({"interruptId": asked.key, "status": "resolved", "payload": payload})
        self._round += 1


CLIENTS: Final = (OpenAiClient, McpClient, A2AClient, AgUiClient)
