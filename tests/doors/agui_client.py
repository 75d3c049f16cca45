"""A front end that speaks AG-UI, with the protocol's own types as the check of each event."""

from __future__ import annotations

import json
from typing import Any

import httpx
from ag_ui.core import Event, RunAgentInput
from httpx_sse import EventSource
from pydantic import BaseModel, TypeAdapter

_EVENT: TypeAdapter[Any] = TypeAdapter(Event)
#: What may have any content.
_OPEN = ("metadata", "value", "snapshot", "result", "response_schema")


class FrontEnd:
    """A thread of one agent.

    Args:
        url: Of the web process.
        key: API key.
        agent: Name of the agent.
        thread: Id of the thread.
    """

    def __init__(self, url: str, key: str, agent: str, thread: str) -> None:
        self._address = f"{url}/agui/{agent}"
        self._headers = {"Authorization": f"Bearer {key}"}
        self._thread = thread
        self.messages: list[dict[str, Any]] = []

    def say(self, text: str, run: str, **given: Any) -> list[dict[str, Any]]:
        """Send a message of the user, and return the events."""
        self.messages.append({"id": f"user_{run}", "role": "user", "content": text})
        return self.send(run, **given)

    def send(self, run: str, **given: Any) -> list[dict[str, Any]]:
        """Send the messages, and return the events; each has the form of its type."""
        body = RunAgentInput.model_validate(
            {"threadId": self._thread, "runId": run, "messages": self.messages, **given}
        )
        content = body.model_dump(mode="json", by_alias=True)
        with (
            httpx.Client(headers=self._headers, timeout=60) as http,
            http.stream("POST", self._address, json=content) as response,
        ):
            assert response.status_code == 200, response.read()
            events = [json.loads(one.data) for one in EventSource(response).iter_sse()]
        for event in events:
            _check(_EVENT.validate_python(event))
        assert events[0]["type"] == "RUN_STARTED"
        assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        place = {"threadId": self._thread, "runId": run}
        assert place.items() <= events[0].items()
        return events


def _check(part: Any) -> None:
    """Raise if a part of an event has a field that the protocol does not know."""
    if isinstance(part, BaseModel):
        assert not part.model_extra, part
        for name, value in part:
            if name not in _OPEN:
                _check(value)
    elif isinstance(part, list):
        for one in part:
            _check(one)


def text_of(events: list[dict[str, Any]]) -> str:
    """Return what the agent says."""
    return "".join(one["delta"] for one in events if one["type"] == "TEXT_MESSAGE_CONTENT")


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the events of a type."""
    return [one for one in events if one["type"] == kind]


def heartbit_run(events: list[dict[str, Any]]) -> str:
    """Return the id of the run that a stream tells of."""
    return str(events[0]["metadata"]["heartbit"]["run_id"])


def interrupts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the interrupts that end a stream."""
    assert events[-1]["outcome"]["type"] == "interrupt", events[-1]
    found: list[dict[str, Any]] = events[-1]["outcome"]["interrupts"]
    return found


def answer(interrupt: dict[str, Any], payload: Any) -> list[dict[str, Any]]:
    """Return the ``resume`` of a request that answers an interrupt."""
    return [{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]
