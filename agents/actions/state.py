"""The state store: set, get and delete values that outlive runs.

Usage::

    place = StatePlace(workspace, agent="writer")
    set_state(place, "cursor", {"page": 3}, ttl_seconds=3600, by=actor)
    get_state(place, "cursor").value        # {"page": 3}
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.choices import StateScope
from agents.errors import StateEntryNotFoundError, StateFullError
from agents.models import StateEntry
from agents.querysets import unexpired
from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import HeartbitError, Remedy, about
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from heartbit_site.base.shared_value import check_value
from heartbit_site.base.untrusted import clean_text

MOST_ENTRIES: Final = 10_000  # of a workspace
MOST_KEY: Final = 200
MOST_SECONDS: Final = 3_660 * 86_400  # ten years
MOST_AT_ONCE: Final = 10_000


class InvalidStateError(HeartbitError):
    """The key, the time to live or the scope is not valid."""


@dataclass(frozen=True, slots=True)
class StatePlace:
    """Place of entries: an agent, a conversation, or, with neither, the workspace."""

    workspace: Workspace
    agent: str = ""
    conversation_id: UUID | None = None

    @property
    def scope(self) -> StateScope:
        """The scope."""
        if self.agent:
            return StateScope.AGENT
        return StateScope.WORKSPACE if self.conversation_id is None else StateScope.CONVERSATION

    def entries(self) -> QuerySet[StateEntry]:
        """Return the live entries here."""
        return StateEntry.objects.filter(unexpired(), **self.columns())

    def columns(self) -> dict[str, Any]:
        """Return the columns of an entry here.

        Raises:
            InvalidStateError: It is a place of two scopes.
        """
        if self.agent and self.conversation_id is not None:
            raise InvalidStateError(
                "An entry belongs to an agent or to a conversation: leave one of them out."
            )
        return {
            "workspace": self.workspace,
            "agent": self.agent,
            "conversation_id": self.conversation_id,
        }


@transaction.atomic
def set_state(
    place: StatePlace,
    key: str,
    value: object,
    *,
    by: Actor,
    ttl_seconds: int | None = None,
    run_id: UUID | None = None,
) -> StateEntry:
    """Store a value; one of the same key is replaced, with its time to live.

    Args:
        place: Where.
        key: 1 to 200 characters.
        value: JSON of at most 20,000 characters.
        by: The author; a run names the person behind it.
        ttl_seconds: Time until it is no longer found; None: it stays.
        run_id: The run whose tool writes it; None: the audit gets an entry, without key and value.

    Raises:
        InvalidStateError: The key or the time to live is not valid.
        InvalidValueError: The value is too long.
        UntrustedJSONError: The value is not JSON that can be stored.
        StateFullError: The workspace has 10,000 entries.
    """
    require(by, "runs:write", workspace_id=place.workspace.pk)
    _check_key(key)
    if ttl_seconds is not None and not 1 <= ttl_seconds <= MOST_SECONDS:
        with about("ttl_seconds"):
            raise InvalidStateError("The time to live is 1 second to ten years.")
    now = timezone.now()
    content = {
        "value": check_value(value),
        "user_id": by.user_id,
        "author": by.name[:200],
        "run_id": run_id,
        "expires_at": None if ttl_seconds is None else now + timedelta(seconds=ttl_seconds),
        "updated_at": now,
    }
    where = {**place.columns(), "key": key}
    if not StateEntry.objects.filter(**where).exists():
        _check_room(place.workspace)
    entry, _ = StateEntry.objects.update_or_create(
        **where, defaults={**content, "scope": place.scope}
    )
    _record(place, "state.set", by, run_id)
    return entry


def get_state(place: StatePlace, key: str) -> StateEntry:
    """Return a live entry.

    Raises:
        StateEntryNotFoundError: There is none of that key.
    """
    found = place.entries().filter(key=key).first()
    if found is None:
        raise StateEntryNotFoundError(
            f"The state of the {place.scope.value} has no entry {key[:MOST_KEY]!r}.",
            remedy=Remedy("state.list_state", "lists the keys"),
        )
    return found


@transaction.atomic
def delete_state(place: StatePlace, key: str, *, by: Actor, run_id: UUID | None = None) -> bool:
    """Delete an entry; return True if there was a live one. Arguments as for ``set_state``."""
    require(by, "runs:write", workspace_id=place.workspace.pk)
    found = bool(place.entries().filter(key=key).delete()[0])
    if found:
        _record(place, "state.delete", by, run_id)
    return found


def prune_state() -> int:
    """Delete expired entries, 10,000 at most; return their number."""
    old = StateEntry.objects.filter(expires_at__lte=timezone.now()).order_by("expires_at")
    ids = list(old.values_list("pk", flat=True)[:MOST_AT_ONCE])
    # Once more by time: an entry may have been set again meanwhile.
    return StateEntry.objects.filter(pk__in=ids, expires_at__lte=timezone.now()).delete()[0]


def _check_key(key: str) -> None:
    with about("key"):
        if not 1 <= len(key) <= MOST_KEY or clean_text(key) != key:
            raise InvalidStateError(
                f"The key has to have 1 to {MOST_KEY} characters, none of them NUL."
            )


def _check_room(workspace: Workspace) -> None:
    # Concurrent writers may exceed it by a few, which is cheaper than a lock of all of them.
    if StateEntry.objects.filter(unexpired(), workspace=workspace).count() >= MOST_ENTRIES:
        raise StateFullError(
            f"The state store of {workspace.slug} has {MOST_ENTRIES:,} entries, which is its "
            "limit: delete some, or give entries a time to live."
        )


def _record(place: StatePlace, action: str, by: Actor, run_id: UUID | None) -> None:
    if run_id is None:
        details = {"scope": place.scope.value, **({"agent": place.agent} if place.agent else {})}
        audit.record_workspace(by, action, place.workspace, details)
