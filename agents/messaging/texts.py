"""Texts of messages for the receiving agent, and confirmations for the sender."""

from __future__ import annotations

from typing import Any

from agents.messaging.addresses import BROADCAST
from agents.models import AgentVersion, InboxEntry, Message, MessageKind


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


READ_TOOL = "read_messages"


def describe_receipt(message: Message) -> str:
    """Return the confirmation for the sender."""
    to = message.recipient
    if to == BROADCAST:
        count = InboxEntry.objects.filter(message=message).count()
        to = f"{count} {'agent' if count == 1 else 'agents'}"
    sent = f"Sent to {to} (message {message.pk}, number {message.seq} on its thread)."
    if message.kind == MessageKind.NOTIFICATION and message.recipient != BROADCAST:
        sent += _warning(message)
    return sent


def _warning(message: Message) -> str:
    entries = InboxEntry.objects.filter(message=message)
    entry = entries.select_related("agent__current_version").first()
    version = entry.agent.current_version if entry is not None else None
    if entry is None or version is None or can_read_inbox(version):
        return ""
    return f" {entry.agent.name} has no tool to read its inbox: ask_agent or start_agent reach it."


def can_read_inbox(version: AgentVersion) -> bool:
    """Return True if runs of a version can read their inbox."""
    return any(tool["name"] == READ_TOOL for tool in version.snapshot["tools"])
