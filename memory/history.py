"""Memories: their place, who sees them, and the writing of their content and history."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib.postgres.search import SearchVector
from django.db.models import Q, Value

from heartbit_site.base import audit
from heartbit_site.base.access import Access
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import about
from heartbit_site.base.untrusted import clean_text
from memory.choices import Scope
from memory.errors import InvalidMemoryError, MemoryNotFoundError
from memory.lexical import detect_language
from memory.models import MemoryChange, MemoryItem
from memory.querysets import MemoryQuerySet


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """Scope and owners of a memory; see ``MemoryItem``."""

    workspace_id: int
    scope: Scope
    agent: str = ""
    user_id: int | None = None
    conversation_id: UUID | None = None

    def columns(self) -> dict[str, Any]:
        """Return the columns of a memory here.

        Raises:
            InvalidMemoryError: The scope lacks an owner, or has a superfluous one.
        """
        with about("agent"):
            if self.scope == Scope.WORKSPACE and self.agent:
                raise InvalidMemoryError(
                    "A memory of the workspace belongs to no agent: leave the agent out, or "
                    "choose the scope agent."
                )
            if self.scope != Scope.WORKSPACE and not self.agent:
                raise InvalidMemoryError(
                    f"A memory of the scope {self.scope.value} needs an agent."
                )
        with about("user"):
            if self.scope == Scope.PERSON and self.user_id is None:
                raise InvalidMemoryError("A memory of the scope person needs a person.")
            if self.scope in (Scope.WORKSPACE, Scope.AGENT) and self.user_id is not None:
                raise InvalidMemoryError(
                    f"A memory of the scope {self.scope.value} belongs to no person: leave the "
                    "person out, or choose the scope person."
                )
        if self.scope == Scope.CONVERSATION and self.conversation_id is None:
            raise InvalidMemoryError(
                "The scope conversation needs a conversation, which the run does not have: "
                "choose another scope."
            )
        return asdict(self)


MOST_CHARACTERS: Final = 4_000
CONTENT: Final = ("text", "category", "importance", "metadata")


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a change.

    Attributes:
        actor: For the history and the audit.
        run_id: The run whose tool made the change, or in which it was said if it was extracted;
            None: the audit has an entry instead, which never has the text.
        read_outsiders: True if that run had read text by outsiders.
    """

    actor: Actor
    run_id: UUID | None = None
    read_outsiders: bool = False


def lock(item: MemoryItem) -> MemoryItem:
    """Return the memory's current row, locked until the transaction ends.

    Raises:
        MemoryNotFoundError: It was erased.
    """
    row = MemoryItem.objects.select_for_update(of=("self",)).filter(pk=item.pk).first()
    if row is None:
        raise MemoryNotFoundError(f"Memory {item.pk} was erased.")
    found: MemoryItem = row
    return found


def content_of(item: MemoryItem) -> dict[str, Any]:
    """Return a memory's content in the form of its history."""
    return {name: getattr(item, name) for name in (*CONTENT, "from_outsiders")}


def set_text(item: MemoryItem, text: str) -> None:
    """Set a memory's text, with its language and lexemes.

    Raises:
        InvalidMemoryError: The text is empty or too long.
    """
    text = clean_text(text).strip()
    with about("text"):
        if not text:
            raise InvalidMemoryError("A memory needs a text, such as: Ann prefers tea.")
        if len(text) > MOST_CHARACTERS:
            raise InvalidMemoryError(
                f"The text has {len(text):,} characters, and the limit of a memory is "
                f"{MOST_CHARACTERS:,}: keep its essence."
            )
    item.text, item.language = text, detect_language(text)
    item.search = SearchVector(Value(text), config=item.language)
    item.embedded_with = ""


def set_importance(item: MemoryItem, importance: int) -> None:
    """Set a memory's importance.

    Raises:
        InvalidMemoryError: It is not from 1 to 10.
    """
    with about("importance"):
        if not 1 <= importance <= 10:
            raise InvalidMemoryError(f"The importance must be from 1 to 10, not {importance}.")
    item.importance = importance


def write_change(
    item: MemoryItem, kind: str, by: Author, *, reason: str, before: dict[str, Any] | None
) -> None:
    """Write an entry of a memory's history, and of the audit if a person made the change."""
    MemoryChange.objects.create(
        item=item,
        kind=kind,
        before=before,
        reason=clean_text(reason).strip(),
        author=by.actor.name[:200],
        run_id=by.run_id,
    )
    write_audit(item, kind, by)


def write_audit(item: MemoryItem, what: str, by: Author) -> None:
    """Write an entry of the audit, unless a run's journal has the change."""
    if by.run_id is None:
        audit.record_on(by.actor, f"memory.{what}", item, details={"scope": item.scope})


#: The scope that shows the memories of every person of the workspace.
MANAGE: Final = "workspace:manage"


def visible_memories(access: Access) -> MemoryQuerySet:
    """Return the memories that a caller may see; managers see those of all persons."""
    rows = MemoryItem.objects.filter(workspace=access.workspace)
    if access.allows(MANAGE):
        return rows
    return rows.filter(Q(user=None) | Q(user__isnull=False, user_id=access.user_id))


def sees_memories_of(access: Access, user_id: int | None) -> bool:
    """Return True if ``visible_memories`` has a person's.

    Args:
        access: The caller.
        user_id: The person; None: a person whose account is gone, whose memories only managers see.
    """
    return access.allows(MANAGE) or (user_id is not None and user_id == access.user_id)
