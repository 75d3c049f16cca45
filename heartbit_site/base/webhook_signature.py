"""Signatures of outgoing requests (Standard Webhooks 1.0)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from heartbit_site.base.errors import ConfigurationError


def signature_headers(
    secrets: Iterable[str], message_id: str, at: datetime, body: bytes
) -> dict[str, str]:
    """Return the headers that sign and date a body.

    Args:
        secrets: Valid secrets: base64, with or without ``whsec_`` before it.
        message_id: Id of the message, the same at each attempt.
        at: Time of the attempt, in UTC.
        body: The body, in UTF-8.

    Raises:
        ConfigurationError: A secret is not base64.
    """
    from standardwebhooks.webhooks import (  # noqa: PLC0415  it loads httpx, for every command
        EmptyWebhookSecretError,
        Webhook,
    )

    try:
        signatures = [
            str(Webhook(secret).sign(message_id, at, body.decode())) for secret in secrets
        ]
    except (ValueError, EmptyWebhookSecretError):
        raise ConfigurationError(
            "The signing secret is not base64, with or without whsec_ before it: enter it again."
        ) from None
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
