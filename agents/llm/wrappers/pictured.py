"""Pictures that messages only name: read right before the model is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from agents.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Message,
    StreamEvent,
    UserMessage,
)
from agents.llm.protocol import ChatModel
from agents.llm.wrappers.closing import closing

#: How the address of a stored picture begins; other images are data URLs.
ADDRESS: Final = "artifact:"
_GONE: Final = "\n[an image that is no longer stored]"

#: Reads stored pictures as data URLs, by address; those that are gone are left out.
ReadPictures = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class PicturedModel:
    """A ``ChatModel`` that gets pictures in place of their addresses."""

    model: ChatModel
    read: ReadPictures

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Yield the model's events."""
        addresses = {
            image
            for one in request.messages
            if not isinstance(one, AssistantMessage)
            for image in one.images
            if image.startswith(ADDRESS)
        }
        if addresses:
            known = await self.read(addresses)
            messages = tuple(_shown(one, known) for one in request.messages)
            request = replace(request, messages=messages)
        async with closing(self.model.stream(request)) as events:
            async for event in events:
                yield event


def _shown(message: Message, known: Mapping[str, str]) -> Message:
    if isinstance(message, AssistantMessage) or not message.images:
        return message
    found = [known.get(one, "") if one.startswith(ADDRESS) else one for one in message.images]
    images, gone = tuple(filter(None, found)), _GONE * found.count("")
    if isinstance(message, UserMessage):
        return replace(message, text=message.text + gone, images=images)
    return replace(message, content=message.content + gone, images=images)
