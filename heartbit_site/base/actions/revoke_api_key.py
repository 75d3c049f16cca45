"""Revoke API keys."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from heartbit_site.base.audit import SYSTEM, Actor, record_on
from heartbit_site.base.models import ApiKey


def revoke_api_keys(ids: Iterable[int], *, by: Actor = SYSTEM) -> int:
    """Refuse these keys from the next request on; return how many were not revoked before.

    Args:
        ids: Ids of the keys.
        by: Author, for the audit.
    """
    with transaction.atomic():
        alive = ApiKey.objects.filter(pk__in=list(ids), revoked_at__isnull=True)
        keys = list(
            alive.select_for_update(of=("self",)).select_related("workspace").order_by("pk")
        )
        ApiKey.objects.filter(pk__in=[key.pk for key in keys]).update(revoked_at=timezone.now())
        for key in keys:
            record_on(by, "api_key.revoke", key)
    return len(keys)
