"""Checks of credentials: whether a server accepts one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    import httpx

    from heartbit_site.base.credentials import CredentialType


class UncheckableError(HeartbitError):
    """Credentials of this type cannot be checked without using them."""


async def check_credential(value: CredentialType, http: httpx.AsyncClient) -> None:
    """Log in with a credential, or ask its server.

    Args:
        value: The credential.
        http: The guarded client.

    Raises:
        HeartbitError: It is refused, its server does not answer, or its type has no check.
    """
    raise UncheckableError(f"Of the type {value.label} nothing can be checked.")
