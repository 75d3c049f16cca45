"""Settings of the sign-in at an OpenID Connect issuer; nothing of it exists without one."""

from __future__ import annotations

from typing import Any, Final

from heartbit_site.base import variables

HEARTBIT_OIDC_ISSUER: Final = variables.OIDC_ISSUER.read()
HEARTBIT_OIDC_GROUPS_CLAIM: Final = variables.OIDC_GROUPS_CLAIM.read()
HEARTBIT_OIDC_ROLES: Final = variables.OIDC_ROLES.read()
HEARTBIT_OIDC_LINK_EMAIL: Final = variables.OIDC_LINK_EMAIL.read()
HEARTBIT_OIDC_ONLY: Final = variables.OIDC_ONLY.read()

_APPS: Final = (
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
)
#: Apps, middleware and authentication backends that the sign-in adds; empty without an issuer.
APPS: Final = _APPS if HEARTBIT_OIDC_ISSUER else ()
MIDDLEWARE: Final = (
    ("allauth.account.middleware.AccountMiddleware",) if HEARTBIT_OIDC_ISSUER else ()
)
BACKENDS: Final = ("heartbit_site.web.oidc.backends.IssuerBackend",) if HEARTBIT_OIDC_ISSUER else ()
PASSWORDS: Final = (
    "heartbit_site.web.oidc.backends.SuperuserPasswords"
    if HEARTBIT_OIDC_ONLY
    else "django.contrib.auth.backends.ModelBackend"
)

SOCIALACCOUNT_ADAPTER: Final = "heartbit_site.web.oidc.adapters.SignInAdapter"
#: The issuer is the provider's id: an account of another issuer's subject is another account.
SOCIALACCOUNT_PROVIDERS: Final[dict[str, Any]] = {
    "openid_connect": {
        "APPS": [
            {
                "provider_id": HEARTBIT_OIDC_ISSUER,
                "name": HEARTBIT_OIDC_ISSUER,
                "client_id": variables.OIDC_CLIENT_ID.read(),
                "secret": variables.OIDC_CLIENT_SECRET.read(),
                "settings": {
                    "server_url": HEARTBIT_OIDC_ISSUER,
                    "oauth_pkce_enabled": True,
                    "scope": variables.OIDC_SCOPES.read().split(),
                },
            }
        ]
    }
}
