"""Clients of the web process: the proxies and pages that it believes, and its patience."""

from __future__ import annotations

import ipaddress
import math
import os
import re

from heartbit_site.base.errors import ConfigurationError

_ORIGIN = re.compile(r"https?://[^\s/?#@]+")


def _words(name: str) -> list[str]:
    """Return the parts of a variable that commas separate."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def trusted_proxies() -> list[str]:
    """Return the addresses and networks of ``HEARTBIT_TRUSTED_PROXIES``.

    Raises:
        ConfigurationError: One of them is neither, or is everybody.
    """
    words = _words("HEARTBIT_TRUSTED_PROXIES")
    for word in words:
        try:
            network = ipaddress.ip_network(word)
        except ValueError:
            raise ConfigurationError(
                f"HEARTBIT_TRUSTED_PROXIES holds {word!r}, which is no IP address and no network: "
                "write for example 10.0.0.7 or 10.0.0.0/24, separated by commas."
            ) from None
        if network.prefixlen == 0:
            raise ConfigurationError(
                f"HEARTBIT_TRUSTED_PROXIES holds {word!r}, which is everybody, so anybody could "
                "claim any address: name the proxy's address."
            )
    return words


def trusted_origins() -> list[str]:
    """Return the origins of ``HEARTBIT_TRUSTED_ORIGINS``.

    Raises:
        ConfigurationError: One of them has no scheme, or more than scheme, host and port.
    """
    words = _words("HEARTBIT_TRUSTED_ORIGINS")
    for word in words:
        if not _ORIGIN.fullmatch(word):
            raise ConfigurationError(
                f"HEARTBIT_TRUSTED_ORIGINS holds {word!r}, which is no origin: write scheme, host "
                "and port as a browser shows them, such as https://heartbit.example:8443."
            )
    return words


def request_seconds() -> float:
    """Return ``HEARTBIT_REQUEST_SECONDS``.

    Raises:
        ConfigurationError: It is no number above 0.
    """
    text = os.environ.get("HEARTBIT_REQUEST_SECONDS") or "30"
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ConfigurationError(
            f"HEARTBIT_REQUEST_SECONDS is {text!r}: write a number of seconds above 0, such as 30."
        )
    return seconds


#: Only these may say in ``X-Forwarded-For`` and ``X-Forwarded-Proto`` for whom they ask.
HEARTBIT_TRUSTED_PROXIES = trusted_proxies()
#: Time of a client to send the header of a request, then its body, and to go on reading an answer.
HEARTBIT_REQUEST_SECONDS = request_seconds()
#: Pages elsewhere whose forms and sockets are accepted.
CSRF_TRUSTED_ORIGINS = trusted_origins()
#: Behind HTTPS, as every installation that others reach should be.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = os.environ.get("HEARTBIT_HTTPS", "") == "1"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SESSION_COOKIE_SECURE else None
