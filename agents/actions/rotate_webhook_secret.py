"""Rotate a webhook's secret."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents.delivery.webhooks import OVERLAP, new_secret
from agents.models import WebhookEndpoint
from heartbit_site.base import secrets
from heartbit_site.base.audit import Actor, record


@transaction.atomic
def rotate_webhook_secret(endpoint: WebhookEndpoint, *, by: Actor) -> str:
    """Replace the secret, in ``endpoint`` too; for 24 hours the old one signs messages as well.

    Returns:
        The new secret in plain text, which cannot be read again later.

    Raises:
        SecretError: The old secret cannot be decrypted.
    """
    held = WebhookEndpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
    secret = new_secret()
    endpoint.previous_secret = secrets.seal(held, "previous_secret", secrets.reveal(held, "secret"))
    endpoint.previous_secret_expires_at = timezone.now() + OVERLAP
    endpoint.secret = secrets.seal(held, "secret", secret)
    endpoint.save(update_fields=["secret", "previous_secret", "previous_secret_expires_at"])
    target, workspace = f"webhook:{endpoint.pk}", endpoint.workspace
    record(by, "webhook.rotate", workspace=workspace, target=target, label=endpoint.name)
    return secret
