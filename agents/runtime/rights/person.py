"""The person that a run acts for: their permissions, and the credentials that its calls use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from agents.runs.acting_person import ACTS_FOR
from agents.runs.pool import Pool, call
from heartbit_site.base import orm
from heartbit_site.base.errors import HeartbitError
from tools.calls.permissions import permitted
from tools.credentials.choice import ChosenCredential, NoCredentialError, choose

if TYPE_CHECKING:
    from agents.runs.claims import ClaimedRun
    from agents.runtime.rights.lookups import CredentialLookup, PermissionLookup, PersonLookup
    from heartbit_site.base.toolspec import ToolSpec

SHARED: Final = (
    "Another person has said something to this run, so it no longer acts for one person: it is "
    "given no personal memories, credentials or permissions."
)


def person_lookup(pool: Pool, claimed: ClaimedRun) -> PersonLookup:
    """Return the lookup of the person that a run acts for: always the same person, or no one."""

    async def look() -> int | None:
        if claimed.user_id is None:
            return None
        row = await call(pool, ACTS_FOR, (claimed.id,))
        person: int | None = None if row is None else row["person"]
        return person

    return look


def permission_lookup(claimed: ClaimedRun, person: PersonLookup) -> PermissionLookup:
    """Return the lookup of a run's person, which queries the database each time."""

    async def look(permissions: frozenset[str]) -> frozenset[str]:
        return await orm.read_in_thread(partial(permitted, await person(), permissions))

    return look


def credential_lookup(claimed: ClaimedRun, person: PersonLookup) -> CredentialLookup:
    """Return the lookup of the credentials of a run's calls (``tools.credentials.choice``)."""

    async def look(spec: ToolSpec, names: Mapping[str, str]) -> Mapping[str, ChosenCredential]:
        user_id = await person()
        find = partial(
            choose, spec, workspace_id=claimed.workspace_id, user_id=user_id, names=names
        )
        try:
            return await orm.read_in_thread(find)
        except HeartbitError as error:
            if claimed.user_id is None or user_id is not None:
                raise
            raise NoCredentialError(f"{SHARED} {error}") from error

    return look
