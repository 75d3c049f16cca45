"""A message from outside, whatever way it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.delivery.targets import EmailTarget


@dataclass(frozen=True, slots=True)
class Inbound:
    """What ``actions.accept_message`` gives to an agent.

    Attributes:
        external_id: A webhook's id, or a mail's Message-ID: the same one is taken once.
        text: The task.
        sender: Who wrote it, as far as the message says so.
        title: In a few words; empty: it has none.
        thread: Which conversation it belongs to, as its sender names it; empty: a new one.
        in_reply_to: The Message-IDs of what a mail answers.
        reply: Where the answer goes; None: nowhere by itself.
    """

    external_id: str
    text: str
    sender: str = ""
    title: str = ""
    thread: str = ""
    in_reply_to: tuple[str, ...] = ()
    reply: EmailTarget | None = None
