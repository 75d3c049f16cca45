"""Give a channel a new secret."""

from __future__ import annotations

from contextlib import suppress

from django.db import transaction
from django.utils import timezone

from agents.delivery.webhooks import OVERLAP, new_secret
from agents.models import Channel
from heartbit_site.base import secrets
from heartbit_site.base.audit import Actor, record
from heartbit_site.base.secrets import SecretError


@transaction.atomic
def rotate_channel_secret(channel: Channel, *, by: Actor) -> str:
    """Take messages that are signed with a new secret, and for 24 hours with the present one too.

    A present one that nobody can read any more is good no longer.

    Args:
        channel: A saved one; it is brought up to date.
        by: Who does it, for the audit.

    Returns:
        The new secret in plain text: show it now, it cannot be read again.
    """
    held = Channel.objects.select_for_update(no_key=True).get(pk=channel.pk)
    secret = new_secret()
    with suppress(SecretError):
        former = secrets.reveal(held, "secret")
        channel.previous_secret = secrets.seal(held, "previous_secret", former)
    channel.previous_secret_expires_at = timezone.now() + OVERLAP
    channel.secret = secrets.seal(held, "secret", secret)
    channel.save(update_fields=["secret", "previous_secret", "previous_secret_expires_at"])
    target, workspace = f"channel:{channel.pk}", channel.workspace
    record(by, "channel.rotate", workspace=workspace, target=target, label=channel.name)
    return secret
