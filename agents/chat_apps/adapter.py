"""The interface of a chat service: what Heartbit sends there, and what people do there.

Usage::

    adapter = adapter_of(app, client)  # agents.chat_apps.services
    place, message = await adapter.post("", account.external_id, card)
    event = adapter.read(headers, body, now)  # raises InvalidSignatureError

An adapter maps words and signatures; it reads no row but its app, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from agents.chat_apps.card import Button, Card
from heartbit_site.base.errors import HeartbitError


class ChatError(HeartbitError):
    """The chat service refused a request, or is not reached.

    Attributes:
        is_final: True if the same request will be refused again.
        after_seconds: Time after which it may be sent again, by the service's word; 0: no word.
    """

    def __init__(self, message: str, *, is_final: bool = False, after_seconds: int = 0) -> None:
        super().__init__(message)
        self.is_final = is_final
        self.after_seconds = after_seconds


@dataclass(frozen=True, slots=True)
class Click:
    """A button that an account pressed, or the text that it wrote after that.

    Attributes:
        account: Id of the account.
        wait_id: The wait of the card.
        digest: Digest of what the card showed.
        text: What was written; None: nothing was asked for yet.
        place: Conversation of the card.
        message: The card's message there.
        trigger: Word of the service by which a dialog may be opened.
    """

    account: str
    wait_id: int
    digest: str
    verb: str
    text: str | None = None
    place: str = ""
    message: str = ""
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A line that an account wrote to the app.

    Attributes:
        account: Id of the account.
        text: The line without the command's name.
    """

    account: str
    text: str


#: None: a message of the service that asks for nothing.
Event = Click | ChatCommand | None


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event that came over a connection, which the service wants acknowledged by the id."""

    id: str
    event: Event


#: A message of a connection: it works; the service asks for a new one; an event; anything else.
Frame = Literal["hello", "disconnect"] | Envelope | None


class ChatAdapter(Protocol):
    """A chat service. Coroutines raise ``ChatError``."""

    async def check(self) -> str:
        """Return how the service calls the app and its team, if it takes the token."""

    async def post(self, place: str, account: str, card: Card) -> tuple[str, str]:
        """Send a card to a channel, or to an account; return the ids of place and message."""

    async def update(self, place: str, message: str, card: Card) -> None:
        """Replace the card of a message."""

    async def tell(self, place: str, account: str, text: str) -> None:
        """Show a sentence to one account alone."""

    async def ask(self, click: Click, button: Button) -> None:
        """Ask the account of a click for the text of its button."""

    async def open_connection(self) -> str:
        """Return the URL of a WebSocket on which the service sends its events; it serves once."""

    def read_frame(self, text: str | bytes) -> Frame:
        """Return what a message of that WebSocket says."""

    def acknowledge(self, envelope: Envelope, answer: dict[str, Any] | None) -> str:
        """Return the message that acknowledges an envelope, with the answer of ``reply``."""

    def read(self, headers: Mapping[str, str], body: bytes, now: datetime) -> Event:
        """Return what a signed request says.

        Raises:
            InvalidSignatureError: It is not signed with the app's secret, or is too old.
        """

    def reply(self, event: Event, text: str, *, is_refusal: bool) -> dict[str, Any] | None:
        """Return the body that answers an event's request; None: ``tell`` has to say it."""
