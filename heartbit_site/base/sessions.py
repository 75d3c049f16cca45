"""Re-check of sessions, for sockets and streams that outlive the request that opened them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.utils.crypto import constant_time_compare


def is_session_valid(session_key: str | None, user_id: int | None) -> bool:
    """Return True while a session belongs to its user, and the user's password is unchanged.

    Args:
        session_key: The session's key; None if there is no session.
        user_id: The user that the session belonged to; None for an anonymous one.
    """
    if session_key is None or user_id is None:
        return False
    session: Any = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user_model().objects.filter(pk=user_id).first()
    if user is None or session.get(SESSION_KEY) != str(user.pk):
        return False
    began_with: str = session.get(HASH_SESSION_KEY, "")
    return constant_time_compare(began_with, user.get_session_auth_hash())
