"""Django permissions of the person behind a call.

Usage::

    if not permitted(context.user_id, ("shop.view_order",)):
        raise ForbiddenError(refusal("orders_list", ("shop.view_order",), context.user_id))
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth import get_user_model


def permitted(user_id: int | None, permissions: Iterable[str]) -> frozenset[str]:
    """Return which of some Django permissions a person has now; none without a person."""
    wanted = frozenset(permissions)
    if user_id is None or not wanted:
        return frozenset()
    user = get_user_model().objects.filter(pk=user_id, is_active=True).first()
    if user is None:
        return frozenset()
    return frozenset(name for name in wanted if user.has_perm(name))


def refusal(tool: str, missing: Iterable[str], user_id: int | None) -> str:
    """Return the sentence for a call that the person behind a run is not permitted to make.

    Args:
        tool: The tool's name.
        missing: The permissions that the person lacks.
        user_id: The person; None: there is none.
    """
    needed = " and ".join(sorted(missing))
    user = get_user_model().objects.filter(pk=user_id).first() if user_id is not None else None
    if user is None:
        return (
            f"No person is behind this run, and {tool} requires a person with the permission "
            f"{needed}."
        )
    return f"{user.get_username()} may not use {tool}: the permission {needed} is missing."
