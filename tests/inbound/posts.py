"""Signed posts to a channel, as a program of somebody else sends them."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from standardwebhooks import Webhook

from agents.actions.channels import save_channel
from agents.delivery.webhooks import new_message_id
from agents.models import Channel
from heartbit_site.base.audit import SYSTEM

if TYPE_CHECKING:
    import httpx

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller


def channel_of(workspace: Workspace, **fields: Any) -> tuple[Channel, str]:
    """A new channel of webhooks, unless it is said otherwise, and its secret."""
    made = Channel(
        workspace=workspace, **{"name": "tickets", "kind": "webhook", "agent": "writer"} | fields
    )
    secret = save_channel(made, by=SYSTEM)
    assert secret is not None
    return made, secret


def signed(
    secret: str, body: bytes, *, message_id: str = "", age: float = 0.0, content: str = ""
) -> dict[str, str]:
    """The headers of a message that was made so many seconds ago."""
    message_id, at = message_id or new_message_id(), int(time.time() - age)
    signature = Webhook(secret).sign(message_id, datetime.fromtimestamp(at, UTC), body.decode())
    return {
        "content-type": content or "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": str(signature),
    }


def post(caller: Caller, channel: Channel, secret: str, body: Any, **how: Any) -> httpx.Response:
    """Send it as a program does that has no key."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return sent(caller, channel.url_token, content, signed(secret, content, **how))


def sent(caller: Caller, address: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
    """The bare request."""
    return caller.http.post(
        f"/inbound/{address}", content=body, headers={"Authorization": "", **headers}
    )
