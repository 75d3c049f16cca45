"""End an API key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from heartbit_site.base.models import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterable


def revoke_api_keys(ids: Iterable[int]) -> int:
    """Refuse these keys from the next request on; return how many were not revoked before."""
    alive = ApiKey.objects.filter(pk__in=list(ids), revoked_at__isnull=True)
    return alive.update(revoked_at=timezone.now())
