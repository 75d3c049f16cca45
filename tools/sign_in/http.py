"""The guarded client of sign-ins."""

from __future__ import annotations

from typing import Final

from django.conf import settings

from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient

#: Limit of each request, and of the wait for data.
SECONDS: Final = 10.0
_MAX_BYTES: Final = 1_000_000


def sign_in_client() -> GuardedClient:
    """Return a client for metadata, registration and tokens: small answers, and no redirects."""
    return GuardedClient(
        allow=parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST),
        max_response_bytes=_MAX_BYTES,
        deadline_seconds=SECONDS,
        follow_redirects=False,
    )
