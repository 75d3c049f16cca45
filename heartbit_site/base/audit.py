"""The audit: who changed or decided what, in rows that nobody changes unnoticed.

A verb writes its entry in its own transaction, last (the chain is locked until it ends): what was
done is in the audit, and what was undone is not. The database chains the entries
(``sql/audit.sql``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import connection

from heartbit_site.base.models import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.base.access import Access
    from heartbit_site.base.models import Workspace

_LABEL, _TARGET, _ACTOR = 200, 100, 200
_SHORT = 120  # characters of a value
_CHAINS = 7703  # the class of the chains' locks (``sql/audit.sql``)


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
#: Whoever is not named.
NOBODY = Actor("", "system")


def actor_of(access: Access) -> Actor:
    """Somebody who came over the web or the API."""
    return Actor(access.name, access.via, access.user_id)


def starter_of(access: Access) -> Actor:
    """Return whoever asks, as the runs that they start name them: a key stands for itself."""
    return Actor(access.name, access.via, access.user_id if access.key_id is None else None)


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


def lock_chain(workspace_id: int) -> None:
    """Wait for a workspace's chain and keep it until the caller's transaction ends.

    For a writer that locks rows which others must not wait for while it waits for the chain itself.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_CHAINS, workspace_id])


def changed(before: Any, after: Any) -> list[Any]:
    """From what to what, for the details of an entry: short, and readable without the row."""
    return [_brief(before), _brief(after)]


def _brief(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    is_json = isinstance(value, dict | list)
    text = json.dumps(value, ensure_ascii=False) if is_json else str(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """Where a chain does not hold.

    Attributes:
        workspace_id: Whose chain; 0: the installation's.
        number: The first entry that does not fit.
        problem: Why.
    """

    workspace_id: int
    number: int
    problem: str


@dataclass(frozen=True, slots=True)
class ChainHead:
    """How a chain ends.

    Attributes:
        workspace_id: Whose chain; 0: the installation's.
        number: Of its last entry, which is also how many it has.
        hash: Of its last entry; it covers the whole chain.
    """

    workspace_id: int
    number: int
    hash: str


def verify(workspace: Workspace | None = None) -> list[ChainBreak]:
    """Check the chains; empty: nothing was changed, moved or taken out.

    Entries cut off at a chain's end leave a shorter chain that holds: whoever wants to notice that
    keeps the last number and hash elsewhere (``heartbit audit verify`` prints them).

    Args:
        workspace: This one's alone; None: all.
    """
    where, values = ("", []) if workspace is None else (" WHERE chain = %s", [workspace.pk])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT chain, number, problem FROM audit_broken(){where}", values)  # noqa: S608
        return [ChainBreak(*row) for row in cursor.fetchall()]


def chain_heads(workspace: Workspace | None = None) -> list[ChainHead]:
    """The last entry of each chain.

    Args:
        workspace: This one's alone; None: all.
    """
    entries = AuditEntry.objects.order_by("chain", "-number").distinct("chain")
    if workspace is not None:
        entries = entries.filter(chain=workspace.pk)
    return [ChainHead(*row) for row in entries.values_list("chain", "number", "hash")]
