"""The audit: who changed and decided what in the workspace."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heartbit_site.base import audit
from heartbit_site.base.access import Access
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.contract.audit import (
    ChainOut,
    ChainsOut,
    EntriesOut,
    VerifiedOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Moment, Word
from heartbit_site.operations.paging import list_page

Action = Annotated[Word | None, Field(description="A verb, or its beginning: member, member.add.")]
Whole = Annotated[Word | None, Field(description="Exactly this one.")]
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
    """Verify that no entry of the workspace's audit was changed, moved or taken out."""
    broken = audit.verify(access.workspace)
    tips = audit.chain_heads(access.workspace)
    return VerifiedOut(
        valid=not broken,
        last_number=tips[0].number if tips else 0,
        last_hash=tips[0].hash if tips else "",
        broken_at=broken[0].number if broken else None,
        problem=broken[0].problem if broken else None,
    )


def verify_all_audits(access: Access) -> ChainsOut:
    """Return the head of each audit chain, and the entry from which a chain is broken.

    Entries that were cut off at the end leave a chain that holds: keep the numbers and hashes
    elsewhere, and compare.
    """
    broken = {found.workspace_id: found for found in audit.verify()}
    slugs = dict(Workspace.objects.values_list("pk", "slug"))
    chains = [
        ChainOut(
            workspace=slugs.get(tip.workspace_id),
            chain=tip.workspace_id,
            last_number=tip.number,
            last_hash=tip.hash,
            broken_at=at.number if at is not None else None,
            problem=at.problem if at is not None else None,
        )
        for tip in audit.chain_heads()
        for at in [broken.get(tip.workspace_id)]
    ]
    return ChainsOut(valid=not broken, chains=chains)
