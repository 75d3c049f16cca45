"""Save and remove webhooks, and rotate the secret of a webhook or a channel."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from agents.delivery.webhooks import EVENTS, OVERLAP, new_secret
from agents.errors import TooManyWebhooksError
from agents.models import Channel, WebhookEndpoint
from agents.models.webhook import check_webhook_url
from heartbit_site.base import secrets
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from heartbit_site.base.secrets import SecretError

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
    wanted = sorted(set(endpoint.events))
    unknown = [event for event in wanted if event not in EVENTS]
    if unknown:
        raise ConfigurationError(
            f"A webhook gets no {', '.join(unknown)}: choose from {', '.join(EVENTS)}, or no event "
            "for a webhook that only gets results."
        )
    endpoint.events = wanted


def _make(endpoint: WebhookEndpoint, by: Actor) -> str:
    # Locked, so that concurrent requests cannot exceed the limit.
    Workspace.objects.select_for_update(no_key=True).get(pk=endpoint.workspace_id)
    if WebhookEndpoint.objects.filter(workspace=endpoint.workspace_id).count() >= MOST:
        raise TooManyWebhooksError(
            f"The workspace has {MOST} webhooks, which is the most: remove one first."
        )
    secret = new_secret()
    endpoint.save()
    endpoint.secret = secrets.seal(endpoint, "secret", secret)
    endpoint.save(update_fields=["secret"])
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
    endpoint.save(update_fields=[*_CHANGED, "disabled_reason", "events_from"])
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
