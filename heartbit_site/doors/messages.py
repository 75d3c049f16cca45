"""Messages of a chat as a task, and what was said before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heartbit_site.doors.images import MOST, images_of
from heartbit_site.doors.requests import ChatMessage, RequestError


@dataclass(frozen=True, slots=True)
class Chat:
    """A client's messages, the last of which is the task.

    Attributes:
        task: The last message, which the agent answers.
        thread: The messages before it as runs of a thread, each {task, output, steers}, and images.
        images: Images of the last message.
    """

    task: str
    thread: list[dict[str, Any]]
    images: list[str]


def chat_of(
    messages: Sequence[ChatMessage], *, place: str = "messages", has_images: bool = False
) -> Chat:
    """Return messages as a chat.

    Instructions (of the roles system and developer) begin what the agent reads; its own prompt
    stays its definition's. Messages of one role in a row are one.

    Args:
        messages: The messages, oldest first.
        place: The part of the request that has them.
        has_images: True if those of the user may have images.

    Raises:
        RequestError: The last message is not the user's, or a part of one is not taken.
    """
    thread: list[dict[str, Any]] = []
    texts: list[str] = []
    images: list[str] = []
    count = 0
    for number, message in enumerate(messages):
        at = f"{place}.{number}"
        shows = has_images and message.role == "user"
        text = message.text(at, beside_images=shows)
        if message.role == "assistant" and not texts and not images and thread:
            thread[-1]["output"] = "\n\n".join(filter(None, (thread[-1]["output"], text)))
        elif message.role == "assistant" and text:  # an answer of calls alone says nothing
            said = {"task": "\n\n".join(texts), "output": text, "steers": []}
            thread.append(said | ({"images": images} if images else {}))
            texts, images = [], []
        elif message.role in ("user", "system", "developer"):
            texts += [text] if text else []
            images += images_of(message, at) if shows else []
            count += len(images)
    if count > MOST:
        raise RequestError(f"A request has at most {MOST} images.", place)
    if messages[-1].role != "user":
        raise RequestError(
            "The last message must be the user's: the agent answers it.",
            f"{place}.{len(messages) - 1}.role",
        )
    return Chat("\n\n".join(texts), thread, images)
