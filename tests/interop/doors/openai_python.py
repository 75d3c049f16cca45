"""OpenAI's own client for Python: models, chat completions, responses."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import openai
from httpx_sse import EventSource
from openai import OpenAI
from pydantic import BaseModel

from tests.doors.open_responses import check_event, check_response
from tests.doors.test_images import URL as PICTURE
from tests.interop.doors.calls import Calls
from tests.interop.doors.heartbit import SUM

if TYPE_CHECKING:
    from tests.interop.doors.heartbit import Heartbit

WEATHER: dict[str, Any] = {
    "name": "get-weather",
    "description": "Return the weather.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
ASK = '[[calls: get-weather {"city": "Oslo"}]] [[text: Mild.]]'
CHAT_TOOLS: Any = [{"type": "function", "function": WEATHER}]
TOOLS: Any = [{"type": "function", **WEATHER}]


class Answer(BaseModel):
    """A structured answer."""

    n: int


def drive(heartbit: Heartbit) -> int:
    """Do everything that the door has, with the client; the number of requests."""
    calls = Calls()
    with OpenAI(
        base_url=f"{heartbit.url}/v1",
        api_key=heartbit.key,
        max_retries=0,
        http_client=openai.DefaultHttpxClient(event_hooks=calls.hooks(), timeout=60),
    ) as client:
        names = {one.id for one in client.models.list()}
        assert {"writer", "analyst"} <= names, names
        assert client.models.retrieve("writer").id == "writer"
        _chats(client)
        _responses(client)
        _approved(client, heartbit)
    return calls.count


def _said(text: str | list[Any]) -> Any:
    return [{"role": "user", "content": text}]


def _chats(client: OpenAI) -> None:
    chats = client.chat.completions
    whole = chats.create(model="writer", messages=_said("[[text: Done.]]"))
    assert whole.choices[0].message.content == "Done.", whole
    text = _said("[[text: one two three]] [[stream: 100]]")
    with chats.stream(
        model="writer", messages=text, stream_options={"include_usage": True}
    ) as told:
        final = told.get_final_completion()
    assert final.choices[0].message.content == "one two three", final
    assert final.usage is not None, final
    parts = [
        {"type": "text", "text": "What is it? [[text: Red.]]"},
        {"type": "image_url", "image_url": {"url": PICTURE}},
    ]
    seen = chats.create(model="writer", messages=_said(parts))
    assert seen.choices[0].message.content == "Red.", seen
    shaped = chats.parse(
        model="writer", messages=_said('[[text: {"n": 42}]]'), response_format=Answer
    )
    assert shaped.choices[0].message.parsed == Answer(n=42), shaped
    messages = _said(ASK)
    asked = chats.create(model="writer", messages=messages, tools=CHAT_TOOLS).choices[0]
    assert asked.finish_reason == "tool_calls", asked
    [call] = asked.message.tool_calls or []
    messages += [asked.message, {"role": "tool", "tool_call_id": call.id, "content": "20 C"}]
    last = chats.create(model="writer", messages=messages, tools=CHAT_TOOLS)
    assert last.choices[0].message.content == "Mild.", last


def _responses(client: OpenAI) -> None:
    responses = client.responses
    first = responses.create(model="writer", input="One. [[text: 1]]", metadata={"order": "17"})
    assert (first.status, first.output_text) == ("completed", "1"), first
    second = responses.create(
        model="writer", input="Two. [[text: 2]]", previous_response_id=first.id
    )
    assert second.previous_response_id == first.id, second
    assert responses.retrieve(first.id).metadata == {"order": "17"}
    with responses.stream(
        model="writer", input="[[text: one two three]] [[stream: 100]]"
    ) as events:
        kinds = [event.type for event in events]
        assert events.get_final_response().output_text == "one two three", kinds
    assert "response.output_text.delta" in kinds, kinds
    picture = {"type": "input_image", "image_url": PICTURE, "detail": "auto"}
    words = {"type": "input_text", "text": "What is it? [[text: Red.]]"}
    seen = responses.create(model="writer", input=_said([words, picture]))
    assert seen.output_text == "Red.", seen
    shaped = responses.parse(model="writer", input='[[text: {"n": 42}]]', text_format=Answer)
    assert shaped.output_parsed == Answer(n=42), shaped
    waits = responses.create(model="sleeper", input="Wait.", background=True)
    assert waits.status == "queued", waits
    assert responses.cancel(waits.id).status == "cancelled"
    assert responses.retrieve(waits.id).status == "cancelled"
    asked = responses.create(model="writer", input=ASK, tools=TOOLS)
    [call] = [one for one in asked.output if one.type == "function_call"]
    result: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "20 C"}]
    last = responses.create(
        model="writer", input=result, previous_response_id=asked.id, tools=TOOLS
    )
    assert last.output_text == "Mild.", last


def _approved(client: OpenAI, heartbit: Heartbit) -> None:
    """A request waits while a person decides."""
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(
            lambda: client.chat.completions.create(model="analyst", messages=_said(SUM))
        )
        run_id = heartbit.approve()
        found = asked.result(60)
    assert (found.id, found.choices[0].message.content) == (f"chatcmpl-{run_id}", "Done.")


def validate(heartbit: Heartbit) -> int:
    """Check each event and response with the types of Open Responses; the number of checks."""
    address, count = f"{heartbit.url}/v1/responses", 0
    with httpx.Client(headers={"Authorization": f"Bearer {heartbit.key}"}, timeout=60) as http:
        for body in (
            {"model": "writer", "input": "[[text: one two three]] [[stream: 100]]"},
            {"model": "writer", "input": ASK, "tools": TOOLS},
            {"model": "writer", "input": "[[error: 400]]"},
        ):
            with http.stream("POST", address, json={**body, "stream": True}) as response:
                for event in EventSource(response).iter_sse():
                    content = json.loads(event.data)
                    check_event(content)
                    count += 1
            check_response(content["response"])
            check_response(http.get(f"{address}/{content['response']['id']}").json())
            count += 2
    return count
