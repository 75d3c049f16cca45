"""The adapter of Slack: Block Kit, Web API, signed requests and the payloads of interactions.

Texts of models are in ``rich_text`` blocks, whose text Slack never parses; the few others are
escaped for its mrkdwn. So no text mentions anybody, or links anywhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, cast
from urllib.parse import parse_qs

import httpx

from agents.chat_apps.adapter import ChatCommand, ChatError, Click, Envelope, Event, Frame
from agents.chat_apps.card import Button, Card
from agents.errors import InvalidSignatureError
from agents.models import ChatApp
from heartbit_site.base import secrets
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

API: Final = "https://slack.com/api"
#: Maximum age of a request, as Slack recommends.
TOLERANCE: Final = timedelta(minutes=5)
REFUSAL: Final = (
    "The request is not signed with the signing secret of a chat app here, or is older than 5 "
    "minutes."
)
_MOST_OF_SECTION: Final = 2_900  # of 3,000 characters
_MOST_OF_TEXT: Final = 2_000
_STYLES: Final = {"good": "primary", "bad": "danger"}
_INPUT: Final = "text"
#: Errors of Slack that another attempt does not change.
_FINAL: Final = frozenset(
    "channel_not_found not_in_channel is_archived invalid_auth not_authed account_inactive "  # noqa: SIM905
    "token_revoked token_expired no_permission missing_scope user_not_found cannot_dm_bot "
    "invalid_blocks invalid_blocks_format msg_too_long message_not_found cant_update_message "
    "restricted_action user_disabled expired_trigger_id".split()
)


class Slack:
    """Slack, for one app."""

    def __init__(self, app: ChatApp, client: httpx.AsyncClient | None) -> None:
        self._app = app
        self._client = client

    async def check(self) -> str:
        """Return the names of the bot and its team."""
        found = await self._call("auth.test", {})
        return f"{found.get('user', '')} in {found.get('team', '')}"

    async def post(self, place: str, account: str, card: Card) -> tuple[str, str]:
        """Send a card; to an account in a direct message."""
        if not place:
            user = account.rpartition(":")[2]
            place = (await self._call("conversations.open", {"users": user}))["channel"]["id"]
        sent = await self._call("chat.postMessage", {"channel": place, **message_of(card)})
        return str(sent["channel"]), str(sent["ts"])

    async def update(self, place: str, message: str, card: Card) -> None:
        """Replace a message."""
        await self._call("chat.update", {"channel": place, "ts": message, **message_of(card)})

    async def tell(self, place: str, account: str, text: str) -> None:
        """Show a sentence to one account, in the channel of a card."""
        user = account.rpartition(":")[2]
        await self._call(
            "chat.postEphemeral", {"channel": place, "user": user, "text": escape(text)}
        )

    async def ask(self, click: Click, button: Button) -> None:
        """Open the dialog of a button."""
        view = dialog_of(click, button)
        await self._call("views.open", {"trigger_id": click.trigger, "view": view})

    async def open_connection(self) -> str:
        """Return the URL of a new connection (Socket Mode)."""
        return str((await self._call("apps.connections.open", {}, by="app_token"))["url"])

    def read_frame(self, text: str | bytes) -> Frame:
        """Return what a message of a connection says; "disconnect" comes every few hours."""
        try:
            message: Any = parse_untrusted_json(text)
        except UntrustedJSONError:
            return None
        match message:
            case {"type": "hello" | "disconnect" as word}:
                return cast("Literal['hello', 'disconnect']", word)
            case {"envelope_id": str() as envelope_id, "payload": payload}:
                return Envelope(envelope_id, event_of(payload))
        return None

    def acknowledge(self, envelope: Envelope, answer: dict[str, Any] | None) -> str:
        """Return the acknowledgement; an answer goes with it."""
        said = {"payload": answer} if answer else {}
        return json.dumps({"envelope_id": envelope.id, **said})

    def read(self, headers: Mapping[str, str], body: bytes, now: datetime) -> Event:
        """Return what a signed request says; names of headers are in lower case."""
        verify(secrets.reveal(self._app, "signing_secret"), headers, body, now)
        fields = {name: each[0] for name, each in parse_qs(body.decode(errors="replace")).items()}
        if "payload" not in fields:
            return event_of(fields)
        try:
            return event_of(parse_untrusted_json(fields["payload"]))
        except UntrustedJSONError:
            return None

    def reply(self, event: Event, text: str, *, is_refusal: bool) -> dict[str, Any] | None:
        """Return the answer to a command or a dialog."""
        if isinstance(event, ChatCommand):
            return {"response_type": "ephemeral", "text": escape(text)}
        if not isinstance(event, Click):
            return {}
        if event.text is None:
            return None
        if is_refusal:
            return {"response_action": "errors", "errors": {_INPUT: text[:_MOST_OF_TEXT]}}
        return {"response_action": "clear"}

    async def _call(
        self, method: str, arguments: Mapping[str, Any], *, by: str = "bot_token"
    ) -> dict[str, Any]:
        """Call a method of the Web API, by the token of a column.

        Raises:
            ChatError: Slack refuses it, or is not reached; the sentence has no token.
        """
        if self._client is None:
            raise TypeError("an adapter without a client only reads")
        url = f"{self._app.api_url.rstrip('/') or API}/{method}"
        try:
            headers = {"authorization": f"Bearer {secrets.reveal(self._app, by)}"}
            response = await self._client.post(
                url, json=arguments, headers=headers, follow_redirects=False
            )
            found = parse_untrusted_json(response.content)
        except UntrustedJSONError:
            raise ChatError(f"Slack answered {method} with HTTP {response.status_code}.") from None
        except (HeartbitError, httpx.HTTPError) as error:
            raise ChatError(str(error) or type(error).__name__) from None
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            after = response.headers.get("retry-after", "")
            seconds = min(int(after), 3600) if after.isascii() and after.isdecimal() else 60
            raise ChatError(f"Slack takes no more {method} for now.", after_seconds=seconds)
        if not isinstance(found, dict) or found.get("ok") is not True:
            said = str(found.get("error", "")) if isinstance(found, dict) else ""
            raise ChatError(
                f"Slack refused {method}: {said[:100] or 'no reason'}.", is_final=said in _FINAL
            )
        return found


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: datetime) -> None:
    """Check Slack's signature of a request.

    Raises:
        InvalidSignatureError: It is missing or wrong, or its time is 5 minutes off.
    """
    at, given = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
    if not (secret and at.isascii() and at.isdecimal() and len(at) <= 12):
        raise InvalidSignatureError(REFUSAL)
    if abs(now.timestamp() - int(at)) > TOLERANCE.total_seconds():
        raise InvalidSignatureError(REFUSAL)
    good = hmac.new(secret.encode(), b"v0:" + at.encode() + b":" + body, hashlib.sha256)
    if not hmac.compare_digest(f"v0={good.hexdigest()}".encode(), given.encode()):
        raise InvalidSignatureError(REFUSAL)


def event_of(payload: Any) -> Event:
    """Return what the payload of a request or of an envelope says."""
    match payload:
        case {"command": str(), "user_id": str() as user, "team_id": str() as team}:
            return ChatCommand(f"{team}:{user}", str(payload.get("text", "")).strip())
        case {"type": "block_actions", "actions": [{"value": str() as value, **action}, *_]}:
            where = payload.get("container") or {}
            return _click(
                payload,
                value,
                verb=str(action.get("action_id", "")),
                place=str(where.get("channel_id", "")),
                message=str(where.get("message_ts", "")),
                trigger=str(payload.get("trigger_id", "")),
            )
        case {"type": "view_submission", "view": {"private_metadata": str() as kept} as view}:
            return _submitted(payload, kept, view)
    return None


def _submitted(payload: Mapping[str, Any], kept: str, view: Mapping[str, Any]) -> Event:
    try:
        context = parse_untrusted_json(kept)
        text = view["state"]["values"][_INPUT][_INPUT]["value"] or ""
        value, verb, place, message = map(str, context)  # type: ignore[arg-type]
    except (UntrustedJSONError, KeyError, TypeError, ValueError):
        return None
    return _click(payload, value, verb=verb, place=place, message=message, text=str(text))


def _click(payload: Mapping[str, Any], value: str, **more: Any) -> Event:
    wait, _, digest = value.partition("|")
    user, team = payload.get("user") or {}, payload.get("team") or {}
    if not (wait.isascii() and wait.isdecimal() and len(wait) < 19 and user.get("id")):
        return None
    account = f"{user.get('team_id') or team.get('id', '')}:{user['id']}"
    return Click(account=account, wait_id=int(wait), digest=digest, **more)


def message_of(card: Card) -> dict[str, Any]:
    """Return a card as the text and the blocks of a message.

    The text alone is in notifications, which locked screens show.
    """
    said = f"{card.title} {card.closed}".strip()
    facts = "\n".join(f"*{name}:* {escape(value)}" for name, value in card.facts.items() if value)
    blocks = [
        *(_section(one) for one in (f"*{escape(card.title)}*", facts) if one),
        *_literal(card.text),
        *(_section(escape(one)) for one in (card.note, card.closed) if one),
    ]
    buttons = [_button(card, one) for one in card.buttons]
    link = {
        "type": "button",
        "action_id": "open",
        "text": _plain("Open in Heartbit"),
        "url": card.link,
    }
    blocks.append({"type": "actions", "elements": [*buttons, link]})
    return {
        "text": escape(said),
        "blocks": blocks,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _literal(text: str) -> Iterator[dict[str, Any]]:
    """Yield blocks of preformatted text, which is not parsed."""
    for start in range(0, len(text), _MOST_OF_SECTION):
        part = {"type": "text", "text": text[start : start + _MOST_OF_SECTION]}
        yield {
            "type": "rich_text",
            "elements": [{"type": "rich_text_preformatted", "elements": [part]}],
        }


def _button(card: Card, button: Button) -> dict[str, Any]:
    style = _STYLES.get(button.tone)
    return {
        "type": "button",
        "action_id": button.verb,
        "text": _plain(button.label),
        "value": f"{card.wait_id}|{card.digest}",
        **({"style": style} if style else {}),
    }


def dialog_of(click: Click, button: Button) -> dict[str, Any]:
    """Return the dialog (modal) that asks for the text of a button."""
    kept = [f"{click.wait_id}|{click.digest}", click.verb, click.place, click.message]
    return {
        "type": "modal",
        "title": _plain(button.label[:24]),
        "submit": _plain(button.label[:24]),
        "close": _plain("Cancel"),
        "private_metadata": json.dumps(kept),
        "blocks": [
            {
                "type": "input",
                "block_id": _INPUT,
                "optional": not button.needs_text,
                "label": _plain(button.prompt),
                "element": {
                    "type": "plain_text_input",
                    "action_id": _INPUT,
                    "multiline": True,
                    "max_length": 3000,
                },
            }
        ],
    }


def escape(text: str) -> str:
    """Return a text in which Slack finds no mention, link or entity, cut to a section's length."""
    cut = text if len(text) <= _MOST_OF_TEXT else f"{text[:_MOST_OF_TEXT]}..."
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:3000], "verbatim": True}}
