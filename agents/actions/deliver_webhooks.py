"""Create the messages that webhooks are owed, and send the due ones (docs/decisions/0009)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
from django.conf import settings
from django.db import transaction

from agents.delivery.attempts import store_attempt
from agents.delivery.webhooks import body_of, headers_of
from agents.models import WebhookDelivery, WebhookEndpoint
from agents.runs.webhook_events import create_webhook_deliveries
from heartbit_site.base import aio
from heartbit_site.base.audit import SYSTEM, record_on
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.query import fetch_all

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 64
MOST_OF_ONE = 8  # so that a hanging receiver delays only its own messages
TIMEOUT_SECONDS = 10.0
LEASE_SECONDS = 60.0  # then another process sends what a crashed one had claimed
_GONE = 410

# The attempt is counted at the claim: a message whose answer crashes processes is given up.
_CLAIM = """
UPDATE agents_webhookdelivery d
SET attempts = d.attempts + 1, next_at = clock_timestamp() + make_interval(secs => %s)
FROM (
    SELECT due.id FROM agents_webhookendpoint e
    CROSS JOIN LATERAL (
        SELECT w.id, w.next_at FROM agents_webhookdelivery w
        WHERE w.endpoint_id = e.id AND w.status = 'pending' AND w.next_at <= clock_timestamp()
        ORDER BY w.next_at, w.id LIMIT %s FOR UPDATE SKIP LOCKED
    ) due
    WHERE e.enabled ORDER BY due.next_at LIMIT %s
) mine
WHERE d.id = mine.id RETURNING d.id
"""


@dataclass(frozen=True, slots=True)
class _Reply:
    """Result of one request.

    Attributes:
        code: The response's status; None: there was no response.
        error: Why the request failed; empty: it succeeded.
    """

    code: int | None = None
    error: str = ""


def deliver_webhooks() -> int:
    """Create the deliveries that are owed and send the due ones; return how many arrived.

    Safe to run concurrently.
    """
    for endpoint in WebhookEndpoint.objects.filter(enabled=True).order_by("pk"):
        create_webhook_deliveries(endpoint)
    claimed = _claim()
    if not claimed:
        return 0
    replies = aio.run(_send_all(claimed))
    for delivery, reply in zip(claimed, replies, strict=True):
        _store(delivery, reply)
    return sum(not reply.error for reply in replies)


def _claim() -> list[WebhookDelivery]:
    """Claim the due messages: until the lease expires no other process sends them."""
    ids = [row[0] for row in fetch_all(_CLAIM, [LEASE_SECONDS, MOST_OF_ONE, MOST_AT_ONCE])]
    rows = WebhookDelivery.objects.filter(pk__in=ids).select_related("endpoint__workspace")
    return list(rows.order_by("pk"))


async def _send_all(deliveries: Sequence[WebhookDelivery]) -> list[_Reply]:
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    async with GuardedClient(allow=allow, deadline_seconds=TIMEOUT_SECONDS) as client:
        return list(await asyncio.gather(*(_send(client, delivery) for delivery in deliveries)))


async def _send(client: httpx.AsyncClient, delivery: WebhookDelivery) -> _Reply:
    """Post a message. Only the response's status counts; its body is not read."""
    body, endpoint = body_of(delivery), delivery.endpoint
    try:
        headers = headers_of(endpoint, delivery.message_id, body)
        async with client.stream(
            "POST", endpoint.url, content=body, headers=headers, follow_redirects=False
        ) as response:
            code = response.status_code
    except (HeartbitError, httpx.HTTPError, ValueError) as error:
        return _Reply(error=str(error) or type(error).__name__)
    if 200 <= code < 300:
        return _Reply(code)
    follows = " (redirects are not followed)" if 300 <= code < 400 else ""
    return _Reply(code, f"It answered with HTTP {code}{follows}.")


def _store(delivery: WebhookDelivery, reply: _Reply) -> None:
    """Store the outcome, unless another process has claimed the message meanwhile."""
    is_gone = reply.code == _GONE
    store_attempt(delivery, reply.error, is_final=is_gone, response_code=reply.code)
    if is_gone:
        _disable(delivery.endpoint)
    if reply.error:
        logger.info("a delivery to webhook %s failed: %s", delivery.endpoint_id, reply.error)


@transaction.atomic
def _disable(endpoint: WebhookEndpoint) -> None:
    """Disable the endpoint: HTTP 410 means that the receiver wants no more messages, ever."""
    why = "It answered with HTTP 410: it wants no more messages."
    enabled = WebhookEndpoint.objects.filter(pk=endpoint.pk, enabled=True, url=endpoint.url)
    if enabled.update(enabled=False, disabled_reason=why):
        record_on(SYSTEM, "webhook.disable", endpoint, details={"because": why})
