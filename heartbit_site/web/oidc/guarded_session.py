"""The guarded client in the form of the ``requests`` session that allauth calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import httpx
from django.conf import settings

from heartbit_site.base import aio
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.http.errors import BlockedAddressError, OutboundLimitError
from heartbit_site.base.issuer_errors import IssuerError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

_JSON: Mapping[str, str] = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object that the issuer answered, as allauth reads one.

    Attributes:
        found: The object.
        status_code: Always 200: every other answer is an error.
        headers: Its type.
        content: Empty: allauth repeats it in errors, and it may hold tokens.
    """

    found: dict[str, Any]
    status_code: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: _JSON)
    content: bytes = b""

    def json(self) -> dict[str, Any]:
        """Return the object."""
        return self.found

    def raise_for_status(self) -> None:
        """Do nothing: only a success becomes an answer."""


class GuardedSession:
    """A session whose requests all go through the guarded client; redirects are not followed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: each request closes its own connections."""

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Read a JSON object, as ``request`` does."""
        return self.request("GET", url, headers=headers)

    def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        data: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
    ) -> Answer:
        """Send a request, and return the JSON object that answers it.

        Raises:
            IssuerError: There is no such answer.
        """
        basic = httpx.BasicAuth(auth.username, auth.password) if auth else None
        sent = {"Accept": "application/json", **(headers or {})}
        try:
            found = aio.run(_send(method, url, params=params, data=data, headers=sent, auth=basic))
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise IssuerError(f"The issuer refuses the sign-in with status {status}.") from error
        except (
            httpx.HTTPError,
            BlockedAddressError,
            OutboundLimitError,
            UntrustedJSONError,
        ) as error:
            # No URL of this exchange holds a secret; httpx repeats nothing else.
            raise IssuerError(f"The issuer does not answer as it should: {error}.") from error
        return Answer(found)


async def _send(method: str, url: str, **parts: Any) -> dict[str, Any]:
    allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    async with GuardedClient(allow=allow, follow_redirects=False) as http:
        response = await http.request(method, url, **parts)
    response.raise_for_status()
    found = parse_untrusted_json(response.content)
    if not isinstance(found, dict):
        raise IssuerError("The issuer does not answer as it should: no JSON object.")
    return found
