"""Rotate the secret of a channel or a webhook."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents.delivery.webhooks import OVERLAP, new_secret
from agents.models import Channel, WebhookEndpoint
from heartbit_site.base import secrets
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.rights import require
from heartbit_site.base.secrets import SecretError


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
