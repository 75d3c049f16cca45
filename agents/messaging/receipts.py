"""Confirmation text for the sender of a message, with a warning if it will probably not be read."""

from __future__ import annotations

from agents.messaging.addresses import BROADCAST
from agents.models import AgentVersion, InboxEntry, Message, MessageKind

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
