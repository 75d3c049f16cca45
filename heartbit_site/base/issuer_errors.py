"""Errors of an OpenID Connect issuer, for readers that do not load PyJWT."""

from __future__ import annotations

from heartbit_site.base.errors import HeartbitError


class IssuerError(HeartbitError):
    """The issuer's keys cannot be read."""


class BadTokenError(HeartbitError):
    """A token that is not valid; the message is the end of a sentence."""
