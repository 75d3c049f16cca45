"""The audit: changes and decisions in the workspace."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from heartbit_site.base import audit
from heartbit_site.base.access import Access
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.contract.audit import ChainOut, ChainsOut, EntriesOut, VerifiedOut
from heartbit_site.contract.model import USUAL, Cursor, Limit, Moment, Word
from heartbit_site.operations.paging import list_page

Action = Annotated[
    Word | None, Field(description="An action, or its first word: member, member.add.")
]
Whole = Annotated[Word | None, Field(description="Filter by the exact value.")]
At = Annotated[Moment | None, Field(description="ISO 8601 with a time zone.")]


def list_audit_entries(
    access: Access,
    *,
    cursor: Cursor = None,
    limit: Limit = USUAL,
    action: Action = None,
    actor: Whole = None,
    target: Whole = None,
    since: At = None,
    until: At = None,
) -> EntriesOut:
    """Return changes and decisions with their actors, the newest first."""
    filters = {
        "action__startswith": action,
        "actor": actor,
        "target": target,
        "at__gte": since,
        "at__lt": until,
    }
    given = {name: value for name, value in filters.items() if value is not None}
    rows = AuditEntry.objects.filter(chain=access.workspace.pk, **given)
    return list_page(EntriesOut, rows, "-number", cursor, limit)


def verify_audit(access: Access) -> VerifiedOut:
    """Verify that no entry of the workspace's audit was changed, moved or removed."""
    broken = audit.verify(access.workspace)
    heads = audit.chain_heads(access.workspace)
    head = heads[0] if heads else audit.ChainHead(access.workspace.pk, 0, "")
    return VerifiedOut(valid=not broken, **_of_chain(head, broken[0] if broken else None))


def verify_all_audits(access: Access) -> ChainsOut:
    """Return the head of each audit chain, and its first broken entry.

    Entries removed at the end leave a valid chain: keep the numbers and hashes elsewhere, and
    compare.
    """
    broken = {found.workspace_id: found for found in audit.verify()}
    slugs = dict(Workspace.objects.values_list("pk", "slug"))
    chains = [
        ChainOut(
            workspace=slugs.get(head.workspace_id),
            chain=head.workspace_id,
            **_of_chain(head, broken.get(head.workspace_id)),
        )
        for head in audit.chain_heads()
    ]
    return ChainsOut(valid=not broken, chains=chains)


def _of_chain(head: audit.ChainHead, broken: audit.ChainBreak | None) -> dict[str, Any]:
    return {
        "last_number": head.number,
        "last_hash": head.hash,
        "broken_at": broken.number if broken is not None else None,
        "problem": broken.problem if broken is not None else None,
    }
