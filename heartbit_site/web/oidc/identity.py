"""Claims of an issuer about a person, as far as Heartbit reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings

from heartbit_site.base.untrusted import clean_text


@dataclass(frozen=True, slots=True)
class Identity:
    """A person at the issuer.

    Attributes:
        subject: Permanent identifier (``sub``), unique at the issuer.
        name: User name for a new account (``preferred_username``); empty: the issuer names none.
        email: Address that the issuer has verified, else empty.
        groups: Names of the person's groups.
    """

    subject: str
    name: str
    email: str
    groups: frozenset[str]

    @classmethod
    def of_claims(cls, claims: Mapping[str, Any]) -> Self:
        """Read the claims of an ID token and of the userinfo endpoint."""
        groups = claims.get(settings.HEARTBIT_OIDC_GROUPS_CLAIM)
        found = [groups] if isinstance(groups, str) else groups
        verified = claims.get("email_verified") is True
        return cls(
            subject=str(claims["sub"]),
            name=_text(claims.get("preferred_username")),
            email=_text(claims.get("email")) if verified else "",
            groups=frozenset(g for g in found if isinstance(g, str))
            if isinstance(found, list)
            else frozenset(),
        )


def _text(value: object) -> str:
    return clean_text(value).strip() if isinstance(value, str) else ""
