"""The person behind a run: their permissions, and the credentials that their calls use."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model

from heartbit_site.base import orm
from tools.credentials.choice import choose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agents.runs.claims import ClaimedRun
    from agents.runtime.toolbox import CredentialLookup, PermissionLookup
    from heartbit_site.base.toolspec import ToolSpec
    from tools.credentials.choice import ChosenCredential


def permitted(user_id: int | None, permissions: Iterable[str]) -> frozenset[str]:
    """Return those of some Django permissions that a person has now; none if there is no person."""
    wanted = frozenset(permissions)
    if user_id is None or not wanted:
        return frozenset()
    user = get_user_model().objects.filter(pk=user_id, is_active=True).first()
    if user is None:
        return frozenset()
    return frozenset(name for name in wanted if user.has_perm(name))


def permission_lookup(claimed: ClaimedRun) -> PermissionLookup:
    """Return the lookup of a run's person, which asks the database each time."""

    async def look(permissions: frozenset[str]) -> frozenset[str]:
        return await orm.read_in_thread(partial(permitted, claimed.user_id, permissions))

    return look


def credential_lookup(claimed: ClaimedRun) -> CredentialLookup:
    """Return the lookup of the credentials of a run's calls (``tools.credentials.choice``)."""

    async def look(spec: ToolSpec, names: Mapping[str, str]) -> Mapping[str, ChosenCredential]:
        if not spec.credentials:
            return {}
        return await orm.read_in_thread(
            partial(
                choose,
                spec,
                workspace_id=claimed.workspace_id,
                user_id=claimed.user_id,
                names=names,
            )
        )

    return look
