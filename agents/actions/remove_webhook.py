"""Remove a webhook's endpoint and its log of deliveries."""

from __future__ import annotations

from django.db import transaction

from agents.models import WebhookEndpoint
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.rights import require


@transaction.atomic
def remove_webhook(endpoint: WebhookEndpoint, *, by: Actor) -> None:
    """Delete an endpoint; a message in flight may still arrive."""
    require(by, "workspace:manage", workspace_id=endpoint.workspace_id)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).delete()
    record_on(by, "webhook.remove", endpoint, details={"url": endpoint.url})
