"""Give a webhook a new secret."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents.delivery.webhooks import OVERLAP, new_secret
from agents.models import WebhookEndpoint
from heartbit_site.base import secrets
from heartbit_site.base.audit import Actor, record


@transaction.atomic
def rotate_webhook_secret(endpoint: WebhookEndpoint, *, by: Actor) -> str:
    """Sign with a new secret, and for 24 hours with the present one as well.

    Args:
        endpoint: A saved one; it is brought up to date.
        by: Who does it, for the audit.

    Returns:
        The new secret in plain text: show it now, it cannot be read again.

    Raises:
        SecretError: The present one cannot be read.
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
