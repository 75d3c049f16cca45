"""Save and remove webhooks, rotate secrets, and send the messages that are due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from agents.delivery.sending import OVERLAP, body_of, headers_of, new_secret, store_attempt
from agents.errors import TooManyWebhooksError
from agents.models import Channel, WebhookDelivery, WebhookEndpoint
from agents.models.webhook import check_webhook_url
from agents.runs.webhook_events import create_webhook_deliveries
from agents.system_events.types import check_pattern
from heartbit_site.base import aio, secrets
from heartbit_site.base.audit import SYSTEM, Actor, record_on
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import fetch_all
from heartbit_site.base.rights import require
from heartbit_site.base.secrets import SecretError

logger = logging.getLogger(__name__)

MOST = 100  # webhooks of a workspace
_CHANGED = ("name", "url", "events", "enabled")


def save_webhook(endpoint: WebhookEndpoint, *, by: Actor) -> str | None:
    """Validate and write an endpoint; events that occur while it is disabled are never sent.

    Returns:
        The secret of a new endpoint in plain text, which cannot be read again later; else None.

    Raises:
        ConfigurationError: The name or the URL is not valid, or an event is unknown.
        TooManyWebhooksError: The workspace has 100 webhooks.
    """
    require(by, "workspace:manage", workspace_id=endpoint.workspace_id)
    _check(endpoint)
    with transaction.atomic():
        if endpoint._state.adding:
            return _make(endpoint, by)
        _change(endpoint, by)
        return None


def _check(endpoint: WebhookEndpoint) -> None:
    """Normalize the row; raise if it is not valid."""
    endpoint.name = endpoint.name.strip()
    if not endpoint.name:
        raise ConfigurationError("A webhook needs a name: say what it is for.")
    try:
        check_webhook_url(endpoint.url)
    except ValidationError as error:
        raise ConfigurationError(f"The webhook URL is not valid: {error.messages[0]}") from None
    endpoint.events = sorted(set(endpoint.events))
    try:
        for pattern in endpoint.events:
            check_pattern(pattern)
    except ValueError as error:
        raise ConfigurationError(
            f"The webhook's events are not valid: {error}; none, for a webhook that only gets "
            "results."
        ) from None


def _make(endpoint: WebhookEndpoint, by: Actor) -> str:
    # Locked, so that concurrent requests cannot exceed the limit.
    Workspace.objects.select_for_update(no_key=True).get(pk=endpoint.workspace_id)
    if WebhookEndpoint.objects.filter(workspace=endpoint.workspace_id).count() >= MOST:
        raise TooManyWebhooksError(
            f"The workspace has {MOST} webhooks, which is the most: remove one first."
        )
    secret = new_secret()
    endpoint.save()
    secrets.store(endpoint, "secret", secret)
    endpoint.refresh_from_db(fields=["events_from", "created_at"])
    details = {"url": endpoint.url, "events": endpoint.events}
    record_on(by, "webhook.create", endpoint, details=details)
    return secret


def _change(endpoint: WebhookEndpoint, by: Actor) -> None:
    before = WebhookEndpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
    changes = {
        name: [getattr(before, name), getattr(endpoint, name)]
        for name in _CHANGED
        if getattr(before, name) != getattr(endpoint, name)
    }
    if not changes:
        return
    if "enabled" in changes:
        endpoint.disabled_reason = ""
        endpoint.events_from = Now() if endpoint.enabled else before.events_from
        endpoint.read_from = None if endpoint.enabled else before.read_from
    endpoint.save(update_fields=[*_CHANGED, "disabled_reason", "events_from", "read_from"])
    endpoint.refresh_from_db(fields=["events_from"])
    record_on(by, "webhook.change", endpoint, details=changes)


@transaction.atomic
def remove_webhook(endpoint: WebhookEndpoint, *, by: Actor) -> None:
    """Delete an endpoint; a message in flight may still arrive."""
    require(by, "workspace:manage", workspace_id=endpoint.workspace_id)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).delete()
    record_on(by, "webhook.remove", endpoint, details={"url": endpoint.url})


@transaction.atomic
def rotate_secret(endpoint: Channel | WebhookEndpoint, *, by: Actor) -> str:
    """Replace the secret, in ``endpoint`` too; the old one is valid for another 24 hours.

    An old secret that cannot be decrypted stops being valid at once.

    Returns:
        The new secret in plain text, which cannot be read again later.
    """
    require(by, "workspace:manage", workspace_id=endpoint.workspace_id)
    rows = Channel.objects if isinstance(endpoint, Channel) else WebhookEndpoint.objects
    held = rows.select_for_update(no_key=True).get(pk=endpoint.pk)
    secret = new_secret()
    try:
        former = secrets.reveal(held, "secret")
        endpoint.previous_secret = secrets.seal(held, "previous_secret", former)
    except SecretError:
        endpoint.previous_secret = ""
    endpoint.previous_secret_expires_at = timezone.now() + OVERLAP
    endpoint.secret = secrets.seal(held, "secret", secret)
    endpoint.save(update_fields=["secret", "previous_secret", "previous_secret_expires_at"])
    noun = "channel" if isinstance(endpoint, Channel) else "webhook"
    record_on(by, f"{noun}.rotate", endpoint)
    return secret


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
