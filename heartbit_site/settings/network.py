"""Clients of the web process: the proxies and pages that it believes, and its patience."""

from __future__ import annotations

from heartbit_site.base import variables

HEARTBIT_TRUSTED_PROXIES = list(variables.TRUSTED_PROXIES.read())
HEARTBIT_REQUEST_SECONDS = variables.REQUEST_SECONDS.read()
CSRF_TRUSTED_ORIGINS = list(variables.TRUSTED_ORIGINS.read())
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = variables.HTTPS.read()
#: With trusted proxies the server itself takes the scheme, from them alone.
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https")
    if SESSION_COOKIE_SECURE and not HEARTBIT_TRUSTED_PROXIES
    else None
)
