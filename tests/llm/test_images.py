"""An image beside a user's text, in the form of each kind of provider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.context.tokens import IMAGE, estimate
from agents.llm.adapters.constrained_history import text_conversation
from agents.llm.messages import (
    UNSEEN,
    AssistantMessage,
    ChatRequest,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from agents.llm.profiles import ABLE, openai_profile
from agents.llm.providers import sees_images
from agents.llm.wrappers.estimate import tokens_of
from agents.llm.wrappers.pictured import PicturedModel
from tests.llm import test_anthropic_request, test_openai_request
from tests.llm.bridge_support import bridged, needs_extra
from tests.llm.raw_server import STREAM, raw_server
from tests.llm.samples import OPENAI_STREAM
from tests.llm.support import complete

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    import httpx

URL = "data:image/png;base64,iVBORw0KGgo="
SHOWN = ChatRequest("", (UserMessage("What is it?", (URL,)),))


def test_chat_completions_have_the_image_after_the_text() -> None:
    [message] = test_openai_request.body(SHOWN)["messages"]
    text, image = message["content"]
    assert text == {"type": "text", "text": "What is it?"}
    assert image == {"type": "image_url", "image_url": {"url": URL}}


def test_messages_have_the_image_before_the_text() -> None:
    [message] = test_anthropic_request.body(SHOWN)["messages"]
    image, text = message["content"]
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    assert image == {"type": "image", "source": source}
    assert text["text"] == "What is it?"


@needs_extra
async def test_the_bridge_sends_the_image(client: httpx.AsyncClient) -> None:
    async with raw_server(STREAM + OPENAI_STREAM) as server:
        await complete(bridged(client, server.url), SHOWN)
    [message] = json.loads(server.requests[0])["messages"]
    assert [part["type"] for part in message["content"]] == ["text", "image_url"]
    assert message["content"][1]["image_url"]["url"] == URL


def test_a_model_that_reads_text_alone_is_told_what_it_misses() -> None:
    _, (message,) = text_conversation(SHOWN, ABLE)
    assert isinstance(message, UserMessage)
    assert message == UserMessage("What is it?\n[an image, which you cannot see]")


def test_an_image_counts_as_tokens_and_not_as_its_bytes() -> None:
    large = UserMessage("What is it?", (URL + "A" * 900_000,))
    assert IMAGE < estimate(large) < IMAGE + 20
    assert IMAGE < tokens_of(ChatRequest("", (large,))) < IMAGE + 20


def test_a_model_without_sight_gets_a_remark_in_place_of_each_image() -> None:
    blind = openai_profile("gpt-3.5-turbo")
    sent = test_openai_request.body(SHOWN, blind)["messages"]
    assert sent == [{"role": "user", "content": f"What is it?{UNSEEN}"}]
    known = ("local:x", "openai:gpt-4", "openai:o3-mini", "openai:gpt-4o", "openai:gpt-9", "new:x")
    assert [sees_images(name) for name in known] == [False, False, False, True, True, True]


RETURNED = ChatRequest(
    "",
    (
        UserMessage("Take two."),
        AssistantMessage("", (ToolCall("a", "shoot", "{}"), ToolCall("b", "shoot", "{}"))),
        ToolMessage("a", "shoot", "one", images=(URL,)),
        ToolMessage("b", "shoot", "two"),
    ),
)


def test_images_of_results_follow_all_results_on_chat_completions() -> None:
    messages = test_openai_request.body(RETURNED)["messages"]
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert messages[2]["content"] == "one"
    assert messages[4]["content"][1]["image_url"]["url"] == URL


def test_images_of_results_are_inside_the_result_on_messages() -> None:
    first, second = test_anthropic_request.body(RETURNED)["messages"][2]["content"]
    assert [one["type"] for one in first["content"]] == ["text", "image"]
    assert second["content"] == "two"


async def test_a_stored_picture_is_read_for_each_call_and_one_that_is_gone_is_told() -> None:
    asked: list[ChatRequest] = []

    class Model:
        name = "test:model"

        async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
            asked.append(request)
            yield TextDelta("")

    async def read(addresses: Collection[str]) -> dict[str, str]:
        assert set(addresses) == {"artifact:1/a", "artifact:1/gone"}
        return {"artifact:1/a": URL}

    message = UserMessage("What?", ("artifact:1/gone", "artifact:1/a", URL))
    request = ChatRequest("", (message,))
    assert [one async for one in PicturedModel(Model(), read).stream(request)] == [TextDelta("")]
    (shown,) = asked[0].messages
    assert shown == UserMessage("What?\n[an image that is no longer stored]", (URL, URL))
