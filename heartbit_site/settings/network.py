"""Clients of the web process: trusted proxies and origins, cookies, timeouts."""

from __future__ import annotations

from heartbit_site.base import variables

HEARTBIT_TRUSTED_PROXIES = list(variables.TRUSTED_PROXIES.read())
HEARTBIT_REQUEST_SECONDS = variables.REQUEST_SECONDS.read()
CSRF_TRUSTED_ORIGINS = list(variables.TRUSTED_ORIGINS.read())
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = variables.HTTPS.read()
#: With trusted proxies the server takes the scheme from their header, and from no one else's.
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https")
    if SESSION_COOKIE_SECURE and not HEARTBIT_TRUSTED_PROXIES
    else None
)
