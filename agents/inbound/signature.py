"""Verification of a message's signature with the channel's secret (Standard Webhooks 1.0).

The HMAC is computed here, not by the library that signs outgoing messages, which parses every body
as JSON first: nothing may be parsed before the sender is verified, and mails are not JSON.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agents.errors import InvalidSignatureError

if TYPE_CHECKING:
    from agents.models import Channel

#: Maximum age of a message, and how far its sender's clock may be ahead.
TOLERANCE = timedelta(minutes=5)
#: One text for every failure, so that guessing reveals nothing.
REFUSAL = (
    "The message is not signed with the secret of a channel here: it needs the headers webhook-id, "
    "webhook-timestamp (within 5 minutes) and webhook-signature, as Standard Webhooks has them."
)
_ID = re.compile(r"[!-~]{1,255}")
_TIME = re.compile(r"\d{1,12}")
_MOST_SIGNATURES = 10


def verify(channel: Channel, headers: Mapping[str, str], body: bytes, now: datetime) -> str:
    """Return the message's id, which its signature covers.

    Args:
        channel: The channel; its previous secret is valid too until
            ``previous_secret_expires_at``.
        headers: Headers by name in lower case.
        body: The raw body.
        now: The present.

    Raises:
        InvalidSignatureError: The signature is missing or wrong, or the timestamp too old.
        SecretError: The channel's secret cannot be decrypted.
    """
    message_id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not _ID.fullmatch(message_id) or not _TIME.fullmatch(at):
        raise InvalidSignatureError(REFUSAL)
    if abs(now.timestamp() - int(at)) > TOLERANCE.total_seconds():
        raise InvalidSignatureError(REFUSAL)
    content = f"{message_id}.{at}.".encode() + body
    good = [_signature(secret, content) for secret in channel.valid_secrets(now)]
    given = headers.get("webhook-signature", "").split(" ")[:_MOST_SIGNATURES]
    # All pairs are compared, so that the time taken reveals nothing.
    same = [hmac.compare_digest(one.encode(), other) for one in given for other in good]
    if not any(same):
        raise InvalidSignatureError(REFUSAL)
    return message_id


def _signature(secret: str, content: bytes) -> bytes:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return b"v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256))
