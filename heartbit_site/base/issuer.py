"""An OpenID Connect issuer: its metadata and the keys of its signatures.

The guarded client reads them.

Importing this module loads PyJWT with 15 MB of cryptography.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import httpx
import jwt
from django.conf import settings

from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.http.errors import BlockedAddressError, OutboundLimitError
from heartbit_site.base.issuer_errors import BadTokenError, IssuerError
from heartbit_site.base.untrusted import UntrustedJSONError, clean_text, parse_untrusted_json

#: Signatures by a private key of the issuer; neither ``none`` nor a shared secret.
_ALGORITHMS: Final = ("RS256", "PS256", "ES256", "ES384", "EdDSA")
_LEEWAY_SECONDS: Final = 30
_KEPT_SECONDS: Final = 600.0  # of the issuer's metadata and keys
_AGAIN_SECONDS: Final = 30.0  # between two looks for a key that the issuer has not


class Issuer:
    """The issuer's metadata and keys, as this process has read them.

    Args:
        name: The issuer, without a slash at its end.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._metadata: dict[str, Any] = {}
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = float("-inf")
        self._problem = ""
        self._reading = asyncio.Lock()

    async def claims_of(
        self, token: str, audience: str, required: Sequence[str]
    ) -> Mapping[str, Any]:
        """Return the claims of a token that this issuer has signed.

        Args:
            token: The token.
            audience: What it has to be for.
            required: Claims that it must have.

        Raises:
            BadTokenError: It is not valid.
            IssuerError: The issuer cannot be read.
        """
        try:
            key = await self._key_of(str(jwt.get_unverified_header(token).get("kid", "")))
            found: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=audience,
                issuer=[self._name, f"{self._name}/"],
                leeway=_LEEWAY_SECONDS,
                options={"require": [*required]},
            )
        except jwt.InvalidTokenError as error:
            raise BadTokenError(clean_text(str(error))) from None
        return found

    async def metadata(self) -> Mapping[str, Any]:
        """Return what the issuer publishes about itself (OpenID Connect Discovery).

        Raises:
            IssuerError: The issuer cannot be read.
        """
        await self._refresh(lambda: not self._metadata)
        if not self._metadata:
            raise IssuerError(self._problem)
        return self._metadata

    async def _key_of(self, name: str) -> jwt.PyJWK:
        await self._refresh(lambda: not self._keys or (name != "" and name not in self._keys))
        if not name and len(self._keys) == 1:  # OpenID Connect Core, 10.1: then it needs no id
            return next(iter(self._keys.values()))
        if name not in self._keys:
            if self._problem:
                raise IssuerError(self._problem)
            raise jwt.InvalidTokenError("the issuer has no such key")
        return self._keys[name]

    async def _refresh(self, is_missing: Callable[[], bool]) -> None:
        """Read the issuer if what is known is old, or lacks something.

        Strangers cause this too: so the issuer is asked by one request at a time, and not again
        for some seconds, also if it does not answer.
        """
        async with self._reading:
            age = time.monotonic() - self._read_at
            if age > _KEPT_SECONDS or (is_missing() and age > _AGAIN_SECONDS):
                self._read_at, self._problem = time.monotonic(), ""
                try:
                    self._metadata, self._keys = await self._read()
                except IssuerError as error:
                    self._problem = str(error)  # the keys that are known still hold

    async def _read(self) -> tuple[dict[str, Any], dict[str, jwt.PyJWK]]:
        place = f"{self._name}/.well-known/openid-configuration"
        try:
            async with GuardedClient(allow=parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)) as http:
                document = await _json(http, place)
                if str(document.get("issuer")).rstrip("/") != self._name:
                    raise IssuerError(f"{place} is of another issuer than {self._name}.")
                found = jwt.PyJWKSet.from_dict(await _json(http, str(document.get("jwks_uri"))))
        except (
            httpx.HTTPError,
            BlockedAddressError,
            OutboundLimitError,
            UntrustedJSONError,
            jwt.PyJWTError,
        ) as error:
            raise IssuerError(
                f"The keys of {self._name} cannot be read: {error}. Try again in a moment."
            ) from error
        return document, {one.key_id or "": one for one in found.keys}


async def _json(http: httpx.AsyncClient, place: str) -> dict[str, Any]:
    response = await http.get(place, headers={"Accept": "application/json"})
    response.raise_for_status()
    found = parse_untrusted_json(response.content)
    if not isinstance(found, dict):
        raise IssuerError(f"{place} is not a JSON object.")
    return found
