"""Images in messages of OpenAI's clients: seen by the model, checked, and never more than said."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import openai
import pytest

from agents.models import Run
from tests.api.test_workflows import STEPS

if TYPE_CHECKING:
    from openai import OpenAI

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller

#: One red point.
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg"
    "gg=="
)
URL = f"data:image/png;base64,{PNG}"


def asked(text: str, url: Any = URL) -> Any:
    image = {"type": "image_url", "image_url": {"url": url}}
    return {"role": "user", "content": [{"type": "text", "text": text}, image]}


def opening(run_id: str) -> Any:
    return Run.objects.get(pk=run_id).events.get(seq=1).payload


def test_a_chat_shows_images_of_now_and_before(client: OpenAI, caller: Caller) -> None:
    messages: Any = [
        asked("What is it? [[text: Red.]]"),
        {"role": "assistant", "content": "Red."},
        asked("And this? [[text: Red too.]]"),
    ]
    found = client.chat.completions.create(model="writer", messages=messages)
    assert found.choices[0].message.content == "Red too."
    run_id = found.id.removeprefix("chatcmpl-")
    payload = opening(run_id)
    (before,) = payload["thread"][0]["images"]
    assert before.startswith(f"artifact:{run_id}/0.0-")
    (address,) = payload["images"]
    assert address.startswith(f"artifact:{run_id}/0-")
    turn = caller.http.get(f"/runs/{run_id}/turns/1")
    assert turn.status_code == 200, turn.text


def test_a_response_shows_an_image(client: OpenAI) -> None:
    content = [
        {"type": "input_text", "text": "What is it? [[text: Red.]]"},
        {"type": "input_image", "image_url": URL, "detail": "auto"},
    ]
    given: Any = [{"role": "user", "content": content}]
    found = client.responses.create(model="writer", input=given)
    assert found.output_text == "Red."
    after = client.responses.create(
        model="writer", input="Sure? [[text: Yes.]]", previous_response_id=found.id
    )
    assert after.output_text == "Yes."


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://example.com/a.png", "data URL"),
        ("data:image/svg+xml;base64,PHN2Zy8+", "data URL"),
        ("data:image/png;base64,!!", "data URL"),
        ("data:image/png;base64,AAAA", "is no image/png"),
        (f"data:image/jpeg;base64,{PNG}", "is no image/jpeg"),
        (f"data:image/png;base64,{base64.b64encode(b'GIF8').decode()}", "is no image/png"),
        ("", "data URL"),
    ],
)
def test_what_is_no_image_is_refused(
    client: OpenAI, workspace: Workspace, url: str, said: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=said):
        client.chat.completions.create(model="writer", messages=[asked("What?", url)])
    assert not Run.objects.filter(workspace=workspace).exists()


def test_only_people_show_images_and_only_to_agents(client: OpenAI, caller: Caller) -> None:
    instructed: Any = [{**asked("Look."), "role": "system"}, {"role": "user", "content": "x"}]
    with pytest.raises(openai.BadRequestError, match="send text"):
        client.chat.completions.create(model="writer", messages=instructed)
    with pytest.raises(openai.BadRequestError, match="at most 20 images"):
        client.chat.completions.create(model="writer", messages=[asked("x") for _ in range(21)])
    assert caller.post("/workflows", STEPS).status_code == 201
    with pytest.raises(openai.BadRequestError, match="Images are for agents"):
        client.chat.completions.create(model="digest", messages=[asked("x")])
