"""Inbound messages, independent of the way they arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.delivery.targets import EmailTarget


@dataclass(frozen=True, slots=True)
class Inbound:
    """Message for ``actions.receive_message``.

    Attributes:
        external_id: A webhook's id, or a mail's key: the same id is accepted once.
        text: The task.
        sender: The sender's name or address as claimed by the message.
        title: A short title; may be empty.
        thread: The sender's name of the conversation; empty: a new one.
        in_reply_to: Message-IDs that a mail answers.
        reply: Target of the answer; None: no reply.
    """

    external_id: str
    text: str
    sender: str = ""
    title: str = ""
    thread: str = ""
    in_reply_to: tuple[str, ...] = ()
    reply: EmailTarget | None = None
