"""Whether a message was sent by whoever has the channel's secret (Standard Webhooks 1.0).

The HMAC is made here, not by the library that signs outgoing ones, because that reads every body
as JSON first: here nothing is parsed before it is known who sent it, and mails are no JSON.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from agents.errors import InvalidSignatureError
from heartbit_site.base import secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from agents.models import Channel

#: How old a message may be, and how far ahead its sender's clock.
TOLERANCE = timedelta(minutes=5)
#: Of everything that is wrong with a message: who guesses learns nothing.
REFUSAL = (
    "The message is not signed with the secret of a channel here: it needs the headers webhook-id, "
    "webhook-timestamp (within 5 minutes) and webhook-signature, as Standard Webhooks has them."
)
_ID = re.compile(r"[!-~]{1,255}")
_TIME = re.compile(r"\d{1,12}")
_MOST_SIGNATURES = 10


def verify(channel: Channel, headers: Mapping[str, str], body: bytes, now: datetime) -> str:
    """The message's id, which its signature covers.

    Args:
        channel: Whose secret counts; until ``previous_secret_expires_at`` the previous one does
            as well.
        headers: By their names in lower case.
        body: As it came.
        now: The present.

    Raises:
        InvalidSignatureError: It is not signed so, or not now.
        SecretError: The channel's secret cannot be read.
    """
    message_id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not _ID.fullmatch(message_id) or not _TIME.fullmatch(at):
        raise InvalidSignatureError(REFUSAL)
    if abs(now.timestamp() - int(at)) > TOLERANCE.total_seconds():
        raise InvalidSignatureError(REFUSAL)
    content = f"{message_id}.{at}.".encode() + body
    good = [_signature(secret, content) for secret in _secrets_of(channel, now)]
    given = headers.get("webhook-signature", "").split(" ")[:_MOST_SIGNATURES]
    # Each is compared with each, so that the time it takes says nothing.
    same = [hmac.compare_digest(one.encode(), other) for one in given for other in good]
    if not any(same):
        raise InvalidSignatureError(REFUSAL)
    return message_id


def _signature(secret: str, content: bytes) -> bytes:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return b"v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256))


def _secrets_of(channel: Channel, now: datetime) -> Iterator[str]:
    yield secrets.reveal(channel, "secret")
    if channel.previous_secret_expires_at is not None and channel.previous_secret_expires_at > now:
        yield secrets.reveal(channel, "previous_secret")
