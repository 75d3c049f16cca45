"""Revoke standing permissions ("always allow")."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from agents.models import Grant
from heartbit_site.base.audit import Actor, record_on


@transaction.atomic
def revoke_grants(grants: Iterable[Grant], *, by: Actor) -> int:
    """End the grants that are not revoked yet, from the next call on; return their number."""
    valid = Grant.objects.filter(revoked_at__isnull=True)
    now = timezone.now()
    ended = [one for one in grants if valid.filter(pk=one.pk).update(revoked_at=now)]
    for grant in ended:  # last: the audit's chain is locked from here on
        record_on(by, "grant.revoke", grant)
    return len(ended)
