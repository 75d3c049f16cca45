"""Slack as its documentation has it: the Web API, Socket Mode, and signed requests of its users.

It refuses what Slack refuses: other tokens, blocks with too much text, messages and triggers that
it does not know. Where a user clicks, it makes the payload that Slack sends.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEAM = "T0TEAM"
BOT = "xoxb-of-the-bot"
APP = "xapp-of-the-app"
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


@dataclass
class Slack:
    """The server, and all that it was told."""

    port: int = 0
    socket_port: int = 0
    messages: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    whispers: list[dict[str, Any]] = field(default_factory=list)
    views: list[dict[str, Any]] = field(default_factory=list)
    #: Errors that the next calls of a method answer with; a number is a status.
    faults: dict[str, list[str | int]] = field(default_factory=dict)
    #: Called after a message was accepted, before the answer is sent.
    on_message: Callable[[], None] | None = None
    #: Envelopes to send; None ends the connection as Slack does.
    envelopes: Queue[dict[str, Any] | None] = field(default_factory=Queue)
    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def allowed(self) -> str:
        """For HEARTBIT_HTTP_ALLOWLIST."""
        return f"127.0.0.1:{self.port},127.0.0.1:{self.socket_port}"

    def posted(self) -> list[dict[str, Any]]:
        """Its messages as they are now, the oldest first."""
        return list(self.messages.values())

    def called(self, method: str) -> list[dict[str, Any]]:
        return [given for name, given in self.calls if name == method]

    def answer(self, method: str, token: str, given: dict[str, Any]) -> dict[str, Any]:
        """What a method of the Web API answers."""
        good = APP if method == "apps.connections.open" else BOT
        if token != f"Bearer {good}":
            return {"ok": False, "error": "invalid_auth"}
        handler = getattr(self, f"_{method.replace('.', '_')}", None)
        if handler is None:
            return {"ok": False, "error": "unknown_method"}
        found: dict[str, Any] = handler(given)
        return {"ok": "error" not in found, **found}

    def _auth_test(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"team": "Ours", "user": "heartbit", "team_id": TEAM, "user_id": "UBOT"}

    def _conversations_open(self, given: dict[str, Any]) -> dict[str, Any]:
        user = given["users"]
        if not user.startswith(("U", "W")):
            return {"error": "user_not_found"}
        return {"channel": {"id": f"D{user[1:]}"}}

    def _chat_postMessage(self, given: dict[str, Any]) -> dict[str, Any]:
        if not given["channel"].startswith(("C", "D", "G")):
            return {"error": "channel_not_found"}
        if wrong := wrong_blocks(given):
            return {"error": "invalid_blocks", "errors": [wrong]}
        ts = f"{1_700_000_000 + len(self.messages)}.000100"
        self.messages[given["channel"], ts] = {**given, "ts": ts}
        if self.on_message is not None:
            self.on_message()
        return {"channel": given["channel"], "ts": ts, "message": {}}

    def _chat_update(self, given: dict[str, Any]) -> dict[str, Any]:
        key = given["channel"], given["ts"]
        if key not in self.messages:
            return {"error": "message_not_found"}
        if wrong := wrong_blocks(given):
            return {"error": "invalid_blocks", "errors": [wrong]}
        self.messages[key] = given
        return {"channel": key[0], "ts": key[1]}

    def _chat_postEphemeral(self, given: dict[str, Any]) -> dict[str, Any]:
        self.whispers.append(given)
        return {"message_ts": "1.1"}

    def _views_open(self, given: dict[str, Any]) -> dict[str, Any]:
        if not given["trigger_id"].startswith("trigger"):
            return {"error": "invalid_trigger_id"}
        view = given["view"]
        assert len(view["title"]["text"]) <= 24
        assert len(view["private_metadata"]) <= 3000
        self.views.append(view)
        return {"view": view}

    def _apps_connections_open(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"url": f"ws://127.0.0.1:{self.socket_port}/link/?ticket={self.connections}"}

    def accept(self, connection: ServerConnection) -> None:
        """Serve a connection of Socket Mode until Slack refreshes it, or it breaks."""
        self.connections += 1
        connection.send(json.dumps({"type": "hello", "num_connections": 1}))
        while (envelope := self.envelopes.get()) is not None:
            try:
                connection.send(json.dumps(envelope))
                self.acknowledged.append(json.loads(connection.recv(timeout=20)))
            except (ConnectionClosed, TimeoutError):
                self.envelopes.put(envelope)  # not acknowledged: sent over the next connection
                return
        with suppress(ConnectionClosed):
            connection.send(json.dumps({"type": "disconnect", "reason": "refresh_requested"}))


def button_of(message: dict[str, Any], verb: str) -> dict[str, Any]:
    """A button of a message."""
    [row] = [block for block in message["blocks"] if block["type"] == "actions"]
    found: dict[str, Any] = {one["action_id"]: one for one in row["elements"]}[verb]
    return found


def verbs_of(message: dict[str, Any]) -> list[str]:
    """The buttons of a message."""
    [row] = [block for block in message["blocks"] if block["type"] == "actions"]
    return [one["action_id"] for one in row["elements"]]


def click(message: dict[str, Any], verb: str, user: str, **changed: Any) -> dict[str, Any]:
    """The payload of a click on a button of a message."""
    action = {"type": "button", "block_id": "b", **button_of(message, verb), **changed}
    return {
        "type": "block_actions",
        "user": {"id": user, "team_id": TEAM, "username": user.lower()},
        "team": {"id": TEAM, "domain": "ours"},
        "api_app_id": "A1",
        "container": {
            "type": "message",
            "message_ts": message["ts"],
            "channel_id": message["channel"],
        },
        "trigger_id": "trigger.1",
        "actions": [action],
    }


def submission(view: dict[str, Any], user: str, text: str) -> dict[str, Any]:
    """The payload of a dialog that was sent."""
    state = {"values": {"text": {"text": {"type": "plain_text_input", "value": text or None}}}}
    return {
        "type": "view_submission",
        "user": {"id": user, "team_id": TEAM},
        "team": {"id": TEAM, "domain": "ours"},
        "api_app_id": "A1",
        "view": {**view, "id": "V1", "state": state},
    }


def command(text: str, user: str) -> dict[str, str]:
    """The fields of a slash command."""
    return {"command": "/heartbit", "text": text, "team_id": TEAM, "user_id": user}


def form(payload: dict[str, Any]) -> bytes:
    """The body of a request with a payload, or of a slash command."""
    fields = payload if "command" in payload else {"payload": json.dumps(payload)}
    return urlencode(fields).encode()


def signed(body: bytes, *, secret: str = SECRET, age: float = 0.0) -> dict[str, str]:
    """The headers by which Slack signs a request."""
    at = str(int(time.time() - age))
    base = b"v0:" + at.encode() + b":" + body
    digest = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-request-timestamp": at,
        "x-slack-signature": f"v0={digest}",
    }


def wrong_blocks(given: dict[str, Any]) -> str:
    """Why Slack would refuse a message's blocks; empty: it takes them."""
    blocks = given["blocks"]
    if len(blocks) > 50 or not given["text"]:
        return "no more than 50 items allowed"
    for block in blocks:
        match block:
            case {"type": "section", "text": {"type": "mrkdwn", "text": str() as text}}:
                if not 0 < len(text) <= 3000:
                    return "must be more than 0 and less than 3001 characters"
            case {"type": "rich_text", "elements": [{"elements": [{"text": str() as text}]}]}:
                if not text:
                    return "must be more than 0 characters"
            case {"type": "actions", "elements": [_, *_] as buttons}:
                ids = [one["action_id"] for one in buttons]
                too_long = [one for one in buttons if len(one["text"]["text"]) > 75]
                if len(buttons) > 25 or len(set(ids)) < len(ids) or too_long:
                    return "the buttons are wrong"
                if any(len(one.get("value", "v")) > 2000 for one in buttons):
                    return "a value is too long"
            case _:
                return f"unsupported type: {block['type']}"
    return ""


@contextmanager
def slack_server() -> Iterator[Slack]:
    slack = Slack()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            method, given = self.path.removeprefix("/api/"), json.loads(content)
            with lock:
                slack.calls.append((method, given))
                fault = slack.faults[method].pop(0) if slack.faults.get(method) else None
                if isinstance(fault, str):
                    found: dict[str, Any] = {"ok": False, "error": fault}
                elif fault is None:
                    found = slack.answer(method, self.headers.get("authorization", ""), given)
                else:
                    found = {"ok": False, "error": "ratelimited"}
            body = json.dumps(found).encode()
            self.send_response(fault if isinstance(fault, int) else 200)
            if fault == 429:
                self.send_header("retry-after", "7")
            self.send_header("content-type", "application/json; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    socket: Server = serve(slack.accept, "127.0.0.1", 0)
    slack.port, slack.socket_port = web.server_address[1], socket.socket.getsockname()[1]
    threads = [
        threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.02}),
        threading.Thread(target=socket.serve_forever),
    ]
    for thread in threads:
        thread.start()
    try:
        yield slack
    finally:
        slack.envelopes.put(None)
        web.shutdown()
        socket.shutdown()
        for thread in threads:
            thread.join(timeout=20)
        web.server_close()
