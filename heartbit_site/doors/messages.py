"""Messages of a chat as a task, and what was said before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heartbit_site.doors.requests import ChatMessage, RequestError


def task_of(
    messages: Sequence[ChatMessage], *, place: str = "messages"
) -> tuple[str, list[dict[str, Any]]]:
    """Return the task, and the earlier messages as runs of a thread, each {task, output, steers}.

    Instructions (of the roles system and developer) begin what the agent reads; its own prompt
    stays its definition's. Messages of one role in a row are one.

    Args:
        messages: The messages, oldest first.
        place: The part of the request that has them.

    Raises:
        RequestError: The last message is not the user's, or a part of one is no text.
    """
    texts = [(one.role, one.text(f"{place}.{n}")) for n, one in enumerate(messages)]
    if texts[-1][0] != "user":
        raise RequestError(
            "The last message must be the user's: the agent answers it.",
            f"{place}.{len(texts) - 1}.role",
        )
    thread: list[dict[str, Any]] = []
    pending: list[str] = []
    for role, text in texts[:-1]:
        if role == "assistant" and not pending and thread:
            thread[-1]["output"] = "\n\n".join(filter(None, (thread[-1]["output"], text)))
        elif role == "assistant" and text:  # an answer of calls alone says nothing
            thread.append({"task": "\n\n".join(pending), "output": text, "steers": []})
            pending = []
        elif role in ("user", "system", "developer") and text:
            pending.append(text)
    return "\n\n".join([*pending, texts[-1][1]]), thread
