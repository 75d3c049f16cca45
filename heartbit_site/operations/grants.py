"""Grants: standing permissions for a tool of an agent, which a decision has given."""

from __future__ import annotations

from agents.actions.decide_call import revoke_grants
from agents.models import Grant
from agents.querysets import valid_grants
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import NotFoundError, Remedy
from heartbit_site.contract.grants import GrantOut, GrantsOut
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import find_row, list_page, row_id


class GrantNotFoundError(NotFoundError):
    """The workspace has no such grant."""


def list_grants(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> GrantsOut:
    """Return the valid standing permissions, the newest first."""
    rows = valid_grants(access.workspace).select_related("agent")
    return list_page(GrantsOut, rows, "-pk", cursor, limit)


def revoke_grant(access: Access, grant_id: Word) -> GrantOut:
    """End a grant: the tool's calls need approval again, from the next one on.

    People who decide calls end their own; others' need the right to manage the workspace.
    """
    rows = Grant.objects.filter(workspace=access.workspace, pk=row_id(grant_id))
    missing = GrantNotFoundError(
        "The workspace has no such grant.", remedy=Remedy("grants.list_grants")
    )
    row = find_row(rows.select_related("agent", "workspace"), missing)
    revoke_grants([row], by=actor_of(access))
    return GrantOut.of(row)
