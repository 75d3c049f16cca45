"""Remove a webhook's endpoint and its log of deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from heartbit_site.base.audit import Actor, record

if TYPE_CHECKING:
    from agents.models import WebhookEndpoint


@transaction.atomic
def remove_webhook(endpoint: WebhookEndpoint, *, by: Actor) -> None:
    """Delete an endpoint; a message in flight may still arrive."""
    target, details = f"webhook:{endpoint.pk}", {"url": endpoint.url}
    workspace, label = endpoint.workspace, endpoint.name
    endpoint.delete()
    record(by, "webhook.remove", workspace=workspace, target=target, label=label, details=details)
