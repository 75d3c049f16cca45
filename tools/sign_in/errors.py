"""Sign-in errors; each message is a sentence for a person or a model."""

from __future__ import annotations

from heartbit_site.base.errors import HeartbitError


class SignInError(HeartbitError):
    """A sign-in failed: the servers disagree, refuse, or lack a required feature."""


class SignInLapsedError(HeartbitError):
    """A stored sign-in has expired or was revoked: the person must sign in again."""
