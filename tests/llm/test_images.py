"""An image beside a user's text, in the form of each kind of provider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.context.tokens import IMAGE, estimate
from agents.llm.adapters.constrained_history import text_conversation
from agents.llm.messages import ChatRequest, UserMessage
from agents.llm.profiles import ABLE
from agents.llm.wrappers.estimate import tokens_of
from tests.llm import test_anthropic_request, test_openai_request
from tests.llm.bridge_support import bridged, needs_extra
from tests.llm.raw_server import STREAM, raw_server
from tests.llm.samples import OPENAI_STREAM
from tests.llm.support import complete

if TYPE_CHECKING:
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
