"""Clients of the web process: the proxies and pages that it believes, and its patience."""

from __future__ import annotations

from heartbit_site.base import variables

#: Only these may say in ``X-Forwarded-For`` and ``X-Forwarded-Proto`` for whom they ask.
HEARTBIT_TRUSTED_PROXIES = list(variables.TRUSTED_PROXIES.read())
#: Time of a client to send the header of a request, then its body, and to go on reading an answer.
HEARTBIT_REQUEST_SECONDS = variables.REQUEST_SECONDS.read()
#: Pages elsewhere whose forms and sockets are accepted.
CSRF_TRUSTED_ORIGINS = list(variables.TRUSTED_ORIGINS.read())
#: Behind HTTPS, as every installation that others reach should be.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = variables.HTTPS.read()
#: With trusted proxies the server itself takes the scheme, from them alone.
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https")
    if SESSION_COOKIE_SECURE and not HEARTBIT_TRUSTED_PROXIES
    else None
)
