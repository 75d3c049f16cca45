"""Check a credential: log in with it, or ask its server."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone

from heartbit_site.base import aio
from heartbit_site.base.credentials import CredentialType
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from tools.connectors.credential_checks import check_credential as ask
from tools.credentials.values import reveal
from tools.models import Credential

_MAX_BYTES = 1_000_000


def check_credential(credential: Credential) -> None:
    """Check a credential and store the result in its row, within ten seconds."""
    try:
        aio.run(_ask(reveal(credential)))
    except HeartbitError as error:
        credential.healthy, credential.health_message = False, str(error)
    else:
        credential.healthy, credential.health_message = True, ""
    credential.checked_at = timezone.now()
    # Not if it was changed meanwhile: the result is that of what was there before.
    Credential.objects.filter(
        pk=credential.pk, secret=credential.secret, settings=credential.settings
    ).update(
        healthy=credential.healthy,
        health_message=credential.health_message,
        checked_at=credential.checked_at,
    )


async def _ask(value: CredentialType) -> None:
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    async with GuardedClient(allow=allow, max_response_bytes=_MAX_BYTES) as http:
        await ask(value, http)
