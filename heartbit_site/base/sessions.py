"""Re-check of sessions, for sockets and streams that outlive the request that opened them."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest


def is_session_valid(session_key: str | None, user_id: int | None) -> bool:
    """Return True while a session belongs to its user, and the user's password is unchanged.

    Args:
        session_key: The session's key; None if there is no session.
        user_id: The user that the session belonged to; None for an anonymous one.
    """
    if session_key is None or user_id is None:
        return False
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    found: int | None = get_user(request).pk
    return found == user_id
