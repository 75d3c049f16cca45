"""Django permissions of the person behind a call.

Usage::

    if not permitted(context.user_id, ("shop.view_order",)):
        raise ForbiddenError(refusal("orders_list", ("shop.view_order",)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model

if TYPE_CHECKING:
    from collections.abc import Iterable


def permitted(user_id: int | None, permissions: Iterable[str]) -> frozenset[str]:
    """Return those of some Django permissions that a person has now; none if there is no person."""
    wanted = frozenset(permissions)
    if user_id is None or not wanted:
        return frozenset()
    user = get_user_model().objects.filter(pk=user_id, is_active=True).first()
    if user is None:
        return frozenset()
    return frozenset(name for name in wanted if user.has_perm(name))


def refusal(tool: str, missing: Iterable[str]) -> str:
    """Return the sentence for a call that the person behind the run may not make."""
    needed = " and ".join(sorted(missing))
    return f"The person behind this run may not use {tool}: {needed} is needed."
