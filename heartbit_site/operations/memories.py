"""Memories of the workspace and its agents, and of persons, for themselves and managers."""

from __future__ import annotations

from base64 import b64encode
from tempfile import TemporaryFile
from typing import Annotated, Final

from django.db.models import Q
from pydantic import Field

from agents.definitions.unknown_agent import unknown_agent
from agents.models import Agent, LearnedMemory
from agents.reads.agents import weights_of_agent
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import ConflictError, ForbiddenError, NotFoundError, Remedy
from heartbit_site.base.people import User
from heartbit_site.contract import memories as contract
from heartbit_site.contract.members import Username
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.contract.operation import MANAGE
from heartbit_site.operations.paging import find_row, list_page, row_id
from memory.actions.erase import erase_memories as erase
from memory.actions.erase import erase_person
from memory.actions.export import export_person as export
from memory.actions.memories import forget, remember, supersede, undo
from memory.actions.policy import save_policy
from memory.choices import Scope
from memory.errors import MemoryNotFoundError
from memory.history import Author, MemoryPlace, visible_memories
from memory.models import MemoryItem, MemoryPolicy
from memory.querysets import MemoryQuerySet
from memory.recall import recall
from memory.scoring import Weights

OfAgent = Annotated[Name, Field(description="Filter by agent; empty: all.")]
OfPerson = Annotated[Word, Field(description="Filter by person, by user name; empty: all.")]
OfScope = Annotated[contract.ScopeName | None, Field(description="Filter by scope.")]


_MOST_EXPORTED: Final = 50_000_000  # bytes


class ExportTooLargeError(ConflictError):
    """The archive of a person's data is too large for an answer."""


class PersonNotFoundError(NotFoundError):
    """The workspace has no such member."""


def list_memories(
    access: Access,
    *,
    agent: OfAgent = "",
    person: OfPerson = "",
    scope: OfScope = None,
    forgotten: Annotated[bool, Field(description="List forgotten memories instead.")] = False,
    cursor: Cursor = None,
    limit: Limit = USUAL,
) -> contract.MemoriesOut:
    """Return memories, the newest first; only managers see those of other persons."""
    rows = _filtered(access, agent, person, scope).filter(forgotten_at__isnull=not forgotten)
    return list_page(contract.MemoriesOut, rows.select_related("user"), "-pk", cursor, limit)


def search_memories(
    access: Access,
    *,
    query: Annotated[
        Word, Field(description="Words to search for; empty: the most notable memories.")
    ] = "",
    agent: OfAgent = "",
    person: OfPerson = "",
    scope: OfScope = None,
    least_score: Annotated[float, Field(ge=0, le=1, description="Leave out lower scores.")] = 0.0,
    limit: Limit = 10,
) -> contract.MemoryHitsOut:
    """Return the best matching memories, with the reasons.

    Runs of an agent recall in the same order, among the memories of their scope. Unlike a run's
    recall, a search does not strengthen what it finds.
    """
    rows = _filtered(access, agent, person, scope).live()
    found = recall(
        rows,
        query,
        limit=limit,
        workspace_id=access.workspace.pk,
        weights=Weights(**weights_of_agent(access.workspace, agent)) if agent else None,
        least_score=least_score,
    )
    return contract.MemoryHitsOut.of(found, found_by=found.basis, next_cursor=None)


def create_memory(access: Access, body: contract.MemoryIn) -> contract.MemoryOut:
    """Store a memory, or return the existing one with this text in the same scope.

    A memory of another person, an agent or the workspace requires the right to manage the
    workspace.
    """
    user = _person(access, body.person) if body.scope == "person" else None
    if user is None:
        _need_manager(access)
    user_id = user.pk if user is not None else None
    if body.agent and body.scope != "workspace":
        _need_agent(access, body.agent)
    place = MemoryPlace(access.workspace.pk, Scope(body.scope), body.agent, user_id)
    given = body.model_dump(include={"category", "importance", "metadata"})
    return contract.MemoryOut.of(remember(place, body.text, by=_author(access), **given))


def show_memory_settings(access: Access) -> contract.MemorySettingsOut:
    """Return the embedding model and the retention of the workspace's memories."""
    row = MemoryPolicy.objects.filter(workspace=access.workspace).first()
    return contract.MemorySettingsOut.of(row or MemoryPolicy(workspace=access.workspace))


def change_memory_settings(
    access: Access, body: contract.MemorySettingsIn
) -> contract.MemorySettingsOut:
    """Change the embedding model and the retention of the workspace's memories.

    A new embedding model must answer first; then a worker embeds all memories and documents.
    """
    row = MemoryPolicy.objects.filter(workspace=access.workspace).first()
    row = row or MemoryPolicy(workspace=access.workspace)
    model, days = body.embedding_model, body.kept_days
    saved = save_policy(
        access.workspace,
        by=actor_of(access),
        embedding_model=row.embedding_model if model is None else model,
        kept_days=row.kept_days if days is None else days or None,
    )
    return contract.MemorySettingsOut.of(saved)


def erase_memories(
    access: Access,
    username: Username,
    *,
    agent: Annotated[Name, Field(description="Erase only this agent's memories; empty: all.")] = "",
    runs: Annotated[bool, Field(description="Erase the runs of the person as well.")] = False,
) -> contract.ErasedOut:
    """Permanently delete a person's memories with their histories; there is no undo.

    The audit records the erasure, but not what was erased. Runs that extracted them are deleted
    too; journals of other runs keep their texts, unless ``runs`` erases everything that the person
    started, with conversations, forks, results and archives, which requires the right to manage the
    workspace.
    """
    user = _person(access, username)
    if runs:
        _need_manager(access)
        done = erase_person(access.workspace, user, by=actor_of(access), agent=agent)
        return contract.ErasedOut(
            person=user.get_username(), agent=agent, erased=done.memories, runs=done.runs
        )
    erased = erase(access.workspace, user, by=actor_of(access), agent=agent)
    return contract.ErasedOut(person=user.get_username(), agent=agent, erased=erased)


def export_person(access: Access, username: Username) -> contract.PersonExportOut:
    """Return everything that erasing a person with their runs would delete, as a ZIP archive.

    Nothing is stored: each request builds its own archive, and the audit records it. Secrets of the
    person's credentials are left out. 409 if the archive is larger than 50 MB: the admin sends it.
    """
    user = _person(access, username)
    with TemporaryFile() as file:
        rows = export(access.workspace, user, file, by=actor_of(access))
        size = file.tell()
        if size > _MOST_EXPORTED:
            raise ExportTooLargeError(
                f"The archive has {size:,} bytes, and an answer at most {_MOST_EXPORTED:,}: "
                "download it in the admin, on the page of one of the person's memories."
            )
        file.seek(0)
        content = b64encode(file.read()).decode()
    return contract.PersonExportOut(
        person=user.get_username(), rows=rows, size=size, content=content
    )


def show_memory(access: Access, memory_id: Word) -> contract.MemoryDetailOut:
    """Return a memory with its history, the last change first."""
    row = _find(access, memory_id)
    return contract.MemoryDetailOut.of(
        row,
        history=list(row.changes.all()),
        sources=list(LearnedMemory.objects.filter(item=row)),
    )


def change_memory(
    access: Access, memory_id: Word, body: contract.MemoryChangeIn
) -> contract.MemoryOut:
    """Replace the given content; the history keeps the old one. 409 if the memory is forgotten."""
    content = body.model_dump(exclude_none=True)
    return contract.MemoryOut.of(
        supersede(_changeable(access, memory_id), by=_author(access), **content)
    )


def forget_memory(access: Access, memory_id: Word, body: contract.ForgetIn) -> contract.MemoryOut:
    """Forget a memory (reversible)."""
    row = _changeable(access, memory_id)
    return contract.MemoryOut.of(forget(row, by=_author(access), reason=body.reason))


def undo_memory_change(access: Access, memory_id: Word) -> contract.MemoryOut:
    """Undo a memory's last change, or restore a forgotten memory. 409 without a change to undo."""
    return contract.MemoryOut.of(undo(_changeable(access, memory_id), by=_author(access)))


def _filtered(access: Access, agent: str, person: str, scope: str | None) -> MemoryQuerySet:
    wanted = {"agent": agent, "user__username": person, "scope": scope}
    return visible_memories(access).filter(
        **{name: value for name, value in wanted.items() if value}
    )


def _find(access: Access, memory_id: str) -> MemoryItem:
    missing = MemoryNotFoundError(
        "There is no such memory in the workspace.", remedy=Remedy("memories.list_memories")
    )
    rows = visible_memories(access).filter(pk=row_id(memory_id)).select_related("user", "workspace")
    found: MemoryItem = find_row(rows, missing)
    return found


def _changeable(access: Access, memory_id: str) -> MemoryItem:
    row = _find(access, memory_id)
    if row.user_id is None or row.user_id != access.user_id:
        _need_manager(access)
    return row


def _person(access: Access, username: str | None) -> User:
    """Return the named person, or the caller; only managers may name others."""
    own = User.objects.filter(pk=access.user_id).first() if access.user_id is not None else None
    if own is not None and username in (None, own.get_username()):
        return own
    if username is None:
        raise ForbiddenError(
            "No person is behind this request: give the person, or the scope agent or workspace."
        )
    _need_manager(access)
    # A person who left the workspace is still remembered here, until they are erased.
    known = MemoryItem.objects.filter(workspace=access.workspace).values("user")
    here = Q(is_superuser=True) | Q(memberships__workspace=access.workspace) | Q(pk__in=known)
    missing = PersonNotFoundError(
        f"The workspace has no member {username[:60]!r}.", remedy=Remedy("members.list_members")
    )
    return find_row(User.objects.filter(here, username=username).distinct(), missing)


def _manages(access: Access) -> bool:
    (scope,) = MANAGE.scopes
    return access.allows(scope)


def _need_manager(access: Access) -> None:
    if not _manages(access):
        (scope,) = MANAGE.scopes
        raise ForbiddenError(
            "You may change only your own memories; others require the right to manage the "
            "workspace.",
            scope,
        )


def _need_agent(access: Access, name: str) -> None:
    """Raise if neither the workspace nor the team of one of its runs has such an agent."""
    agents = Agent.objects.filter(workspace=access.workspace)
    if not agents.filter(name=name).exists():
        names = list(agents.filter(origin="").values_list("name", flat=True))
        raise unknown_agent(name, names, access.workspace.slug)


def _author(access: Access) -> Author:
    return Author(actor_of(access))
