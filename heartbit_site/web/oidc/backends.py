"""Authentication backends of an installation whose people sign in at an issuer.

A session names the backend that opened it, and ends when the settings no longer list it.
"""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from heartbit_site.base.people import User

#: Backend of the sessions that a sign-in at the issuer opens.
BY_ISSUER: Final = "heartbit_site.web.oidc.backends.IssuerBackend"


class IssuerBackend(ModelBackend):
    """Backend of sessions by the issuer; no password opens one."""

    def authenticate(self, request: HttpRequest | None, **_: Any) -> None:  # type: ignore[override]
        """Refuse every password."""


class SuperuserPasswords(ModelBackend):
    """Passwords that only open accounts of superusers (``HEARTBIT_OIDC_ONLY``)."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:  # type: ignore[override]
        """Return the superuser whose name and password these are."""
        user = super().authenticate(request, **credentials)
        return user if user is not None and user.is_superuser else None
