"""Errors of signing in; each is a sentence that a person or a model reads."""

from __future__ import annotations

from heartbit_site.base.errors import HeartbitError


class SignInError(HeartbitError):
    """A sign-in fails: the servers do not agree, refuse, or lack something that is needed."""


class SignInLapsedError(HeartbitError):
    """A stored sign-in gives no access any more: its person has to sign in again."""
