"""Texts of messages for the receiving agent. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.models import Message


def as_question(message: Message) -> str:
    """Return the task of the run that answers a request."""
    return (
        f"Question from {message.sender}, who waits for your answer and sees nothing else of "
        f"what you do:\n\n{message.body}"
    )


def as_task(message_id: str, sender: str, text: str) -> str:
    """Return the task of a run that a message starts."""
    return f"Task from {sender} (message {message_id}):\n\n{text}"


def as_steering_text(message: Message) -> str:
    """Return a reply as a steering message to the run that is answered."""
    return (
        f"Reply from {message.sender} to your message {message.in_reply_to} (the reply is message "
        f"{message.pk}):\n\n{message.body}"
    )


def as_inbox_entry(message: Message) -> dict[str, Any]:
    """Return a message as an entry of the inbox."""
    entry: dict[str, Any] = {
        "id": str(message.pk),
        "from": message.sender,
        "thread": message.thread,
        "number": message.seq,
        "at": message.created_at.isoformat(timespec="seconds"),
        "text": message.body,
    }
    if message.recipient == "broadcast":
        entry["to"] = message.recipient
    if message.in_reply_to is not None:
        entry["in_reply_to"] = str(message.in_reply_to)
    return entry
