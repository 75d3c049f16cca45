"""The person behind a run: their permissions, and the credentials that their calls use."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from heartbit_site.base import orm
from tools.credentials.choice import choose
from tools.permissions import permitted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.runs.claims import ClaimedRun
    from agents.runtime.lookups import CredentialLookup, PermissionLookup
    from heartbit_site.base.toolspec import ToolSpec
    from tools.credentials.choice import ChosenCredential


def permission_lookup(claimed: ClaimedRun) -> PermissionLookup:
    """Return the lookup of a run's person, which asks the database each time."""

    async def look(permissions: frozenset[str]) -> frozenset[str]:
        return await orm.read_in_thread(partial(permitted, claimed.user_id, permissions))

    return look


def credential_lookup(claimed: ClaimedRun) -> CredentialLookup:
    """Return the lookup of the credentials of a run's calls (``tools.credentials.choice``)."""

    async def look(spec: ToolSpec, names: Mapping[str, str]) -> Mapping[str, ChosenCredential]:
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
