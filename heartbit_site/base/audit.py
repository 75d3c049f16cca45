"""The audit: changes and decisions with their actors, in tamper-evident rows.

An action writes its entry last in its own transaction, because the chain stays locked until the
transaction ends: committed changes are in the audit, rolled back ones are not. The database chains
the entries (``sql/audit.sql``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from heartbit_site.base.access import Access
from heartbit_site.base.models import AuditEntry, Workspace
from heartbit_site.base.people import User
from heartbit_site.base.query import execute, fetch_all

#: Prefixes of the names of schedules, channels and triggers as actors. No person or key has such a
#: name, so ``started_by`` of a run identifies its starter even after it is deleted.
BY_SCHEDULE: Final = "schedule "
BY_CHANNEL: Final = "channel "
BY_TRIGGER: Final = "trigger "
#: Prefixes of the starters of runs that nobody watches.
UNWATCHED: Final = (BY_SCHEDULE, BY_CHANNEL, BY_TRIGGER)

_LABEL, _TARGET, _ACTOR = 200, 100, 200
_SHORT = 120  # characters of a value
_CHAINS = 7703  # the class of the chains' locks (``sql/audit.sql``)


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a change.

    Attributes:
        name: Name for readers.
        via: admin, web, api, terminal, email, chat or system.
        user_id: The actor's account, if there is one.
        access: The rights of the request behind the change; None: Heartbit or a program did it.
    """

    name: str
    via: str
    user_id: int | None = None
    access: Access | None = field(default=None, compare=False, repr=False)


#: Heartbit itself.
SYSTEM = Actor("Heartbit", "system")
#: An unnamed actor.
NOBODY = Actor("", "system")


def actor_of(access: Access) -> Actor:
    """Return the actor of a request over the web or the API."""
    return Actor(access.name, access.via, access.user_id, access)


def starter_of(access: Access) -> Actor:
    """Return the caller as the starter of a run: for a key, without its owner."""
    user_id = access.user_id if access.key_id is None else None
    return Actor(access.name, access.via, user_id, access)


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
        by: The author.
        action: A verb in dotted form, e.g. ``agent.publish``.
        workspace: The workspace concerned; None for the installation.
        target: The row that was changed, e.g. ``agent:17``.
        label: The name of that row.
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


def last_change(target: str, *, since: datetime) -> AuditEntry | None:
    """Return the newest entry about a row (``agent:17``) since a moment, if there is one."""
    return AuditEntry.objects.filter(target=target, at__gt=since).order_by("-at").first()


class Owned(Protocol):
    """A row of a workspace, or of the installation."""

    pk: Any

    @property
    def workspace(self) -> Workspace | None:
        """The workspace that the row belongs to; None: the installation."""


def record_on(
    by: Actor, action: str, row: Owned | User, *, details: Mapping[str, Any] | None = None
) -> None:
    """Write an entry about a row under the action's noun, as ``record`` does.

    Args:
        by: The author.
        action: A verb in dotted form: ``webhook.change`` concerns ``webhook:17``.
        row: The row, which keeps its primary key even if it was deleted; an account belongs to the
            installation.
        details: JSON; never a secret.
    """
    record(
        by,
        action,
        workspace=None if isinstance(row, User) else row.workspace,
        target=f"{action.partition('.')[0]}:{row.pk}",
        label=str(row),
        details=details,
    )


def record_person(
    by: Actor, action: str, user: User, workspace: Workspace, details: Mapping[str, Any]
) -> None:
    """Write an entry of a workspace about one of its people, as ``record`` does."""
    target, label = f"user:{user.pk}", user.get_username()
    record(by, action, workspace=workspace, target=target, label=label, details=details)


def record_workspace(
    by: Actor, action: str, workspace: Workspace, details: Mapping[str, Any]
) -> None:
    """Write an entry about what a workspace keeps, as ``record`` does."""
    target, label = f"workspace:{workspace.pk}", workspace.slug
    record(by, action, workspace=workspace, target=target, label=label, details=details)


def lock_chain(workspace_id: int) -> None:
    """Lock a workspace's chain until the caller's transaction ends.

    For a writer that locks further rows: other writers should not wait for those rows while this
    one waits for the chain.
    """
    execute("SELECT pg_advisory_xact_lock(%s, %s)", [_CHAINS, workspace_id])


def changed(before: Any, after: Any) -> list[Any]:
    """Return ``[before, after]`` for an entry's details, both readable without the row."""
    return [_brief(before), _brief(after)]


def changes(before: object, after: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the attributes that differ between two objects, in the form of ``changed``."""
    pairs = {name: (getattr(before, name), getattr(after, name)) for name in names}
    return {name: changed(old, new) for name, (old, new) in pairs.items() if old != new}


def _brief(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    is_json = isinstance(value, dict | list)
    text = json.dumps(value, ensure_ascii=False) if is_json else str(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """The first entry of a chain that does not verify.

    Attributes:
        workspace_id: The workspace of the chain; 0 for the installation.
        number: The entry's number.
        problem: Reason.
    """

    workspace_id: int
    number: int
    problem: str


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last entry of a chain.

    Attributes:
        workspace_id: The workspace of the chain; 0 for the installation.
        number: The entry's number, which is also the length of the chain.
        hash: The entry's hash, which covers the whole chain.
    """

    workspace_id: int
    number: int
    hash: str


def verify(workspace: Workspace | None = None) -> list[ChainBreak]:
    """Return the breaks of the chains; empty if no entry was changed, moved or removed.

    Entries cut off at a chain's end leave a shorter chain that verifies. To notice that, keep the
    last number and hash elsewhere (``heartbit audit verify`` prints them).

    Args:
        workspace: Verify its chain alone; None for all chains.
    """
    where, values = ("", []) if workspace is None else (" WHERE chain = %s", [workspace.pk])
    rows = fetch_all(f"SELECT chain, number, problem FROM audit_broken(){where}", values)  # noqa: S608
    return [ChainBreak(*row) for row in rows]


def chain_heads(workspace: Workspace | None = None) -> list[ChainHead]:
    """Return the last entry of each chain.

    Args:
        workspace: Its chain alone; None for all chains.
    """
    entries = AuditEntry.objects.order_by("chain", "-number").distinct("chain")
    if workspace is not None:
        entries = entries.filter(chain=workspace.pk)
    return [ChainHead(*row) for row in entries.values_list("chain", "number", "hash")]
