"""The audit: who changed or decided what, in rows that nobody changes unnoticed.

A verb writes its entry in its own transaction, last (the chain is locked until it ends): what was
done is in the audit, and what was undone is not. The database chains the entries
(``sql/audit.sql``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import connection

from heartbit_site.base.models import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.base.access import Access
    from heartbit_site.base.models import Workspace

_LABEL, _TARGET, _ACTOR = 200, 100, 200


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something, and where.

    Attributes:
        name: As people read it.
        via: admin, web, api, terminal, email or system.
        user_id: Their account, if they have one.
    """

    name: str
    via: str
    user_id: int | None = None


#: Whatever Heartbit does by itself.
SYSTEM = Actor("Heartbit", "system")


def actor_of(access: Access) -> Actor:
    """Somebody who came over the web or the API."""
    return Actor(access.name, access.via, access.user_id)


def record(
    by: Actor,
    action: str,
    *,
    workspace: Workspace | None,
    target: str = "",
    label: str = "",
    details: Mapping[str, Any] | None = None,
) -> None:
    """Write an entry, in the caller's transaction.

    Args:
        by: Who did it.
        action: A verb in dotted form, e.g. ``agent.publish``.
        workspace: Where; None: it concerns the installation.
        target: What it was done to, e.g. ``agent:17``.
        label: Its name.
        details: JSON; never a secret.
    """
    AuditEntry.objects.create(
        workspace=workspace,
        actor=by.name[:_ACTOR],
        user_id=by.user_id,
        via=by.via,
        action=action,
        target=target[:_TARGET],
        label=label[:_LABEL],
        details=dict(details or {}),
    )


@dataclass(frozen=True, slots=True)
class Break:
    """Where a chain does not hold.

    Attributes:
        workspace_id: Whose chain; 0: the installation's.
        number: The first entry that does not fit.
        problem: Why.
    """

    workspace_id: int
    number: int
    problem: str


def verify() -> list[Break]:
    """Check every chain; empty: nothing was changed, moved or taken out.

    Entries cut off at a chain's end leave a shorter chain that holds: whoever wants to notice that
    keeps the last number elsewhere (``heartbit audit verify`` prints it).
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT chain, number, problem FROM audit_broken()")
        return [Break(*row) for row in cursor.fetchall()]
