"""Signatures of access tokens, checked with the keys of their issuer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from django.conf import settings

from heartbit_site.base.issuer import Issuer

_REQUIRED: Final = ("exp", "iss", "aud", "sub")


async def claims_of(token: str, audience: str) -> Mapping[str, Any]:
    """Return the claims of a token of ``HEARTBIT_MCP_ISSUER``.

    Args:
        token: The token.
        audience: The address that it has to be for.

    Raises:
        BadTokenError: It is not valid.
        IssuerError: The issuer cannot be read.
    """
    return await _issuer().claims_of(token, audience, _REQUIRED)


@cache
def _issuer() -> Issuer:
    return Issuer(settings.HEARTBIT_MCP_ISSUER)
