"""Named queries of memories, knowledge bases and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db import models
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Now

from memory.choices import DocumentState, Scope

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace


class MemoryQuerySet(models.QuerySet[Any]):
    """Queries of memories."""

    def live(self) -> Self:
        """Return the memories that are not forgotten."""
        return self.filter(forgotten_at=None)

    def of_person(self, workspace: Workspace, user: User, agent: str = "") -> Self:
        """Return the memories of a person, forgotten ones too.

        Args:
            workspace: Workspace of the memories.
            user: The person.
            agent: Name of the agent that recalls them; empty: all agents.
        """
        rows = self.filter(workspace=workspace, user=user)
        return rows.filter(agent=agent) if agent else rows

    def recalled_by(
        self,
        workspace_id: int,
        agent: str,
        *,
        user_id: int | None = None,
        conversation_id: UUID | None = None,
    ) -> Self:
        """Return a run's memories: never those of another workspace, agent or person.

        Args:
            workspace_id: The run's workspace.
            agent: The name of the run's agent.
            user_id: The person behind the run; None: no person's memories are recalled.
            conversation_id: The run's conversation; None: no conversation's are recalled.
        """
        reach = Q(scope=Scope.WORKSPACE) | Q(scope=Scope.AGENT, agent=agent)
        if user_id is not None:
            reach |= Q(scope=Scope.PERSON, agent=agent, user_id=user_id)
        if conversation_id is not None:
            reach |= Q(scope=Scope.CONVERSATION, agent=agent, conversation_id=conversation_id)
        return self.live().filter(reach, workspace_id=workspace_id)


class DocumentQuerySet(models.QuerySet[Any]):
    """Queries of documents."""

    def unread(self) -> Self:
        """Return the documents with unread parts."""
        return self.filter(DocumentState.unread())

    def claimed(self) -> Self:
        """Return the documents that a worker is reading."""
        return self.unread().filter(claimed_until__gt=Now())

    def claimable(self) -> Self:
        """Return the documents that a worker may read, the longest waiting first."""
        free = Q(claimed_until=None) | Q(claimed_until__lte=Now())
        return self.unread().filter(free).order_by("touched_at", "pk")


def with_counts(bases: QuerySet[Any]) -> QuerySet[Any]:
    """Count each base's documents, those that are unread or failed, and its passages."""
    unread = Q(documents__state__in=[DocumentState.QUEUED, DocumentState.READING])
    failed = Q(documents__state=DocumentState.FAILED)
    counted: QuerySet[Any] = bases.annotate(
        document_count=Count("documents"),
        unread_count=Count("documents", filter=unread),
        failed_count=Count("documents", filter=failed),
        passage_count=Coalesce(Sum("documents__passage_count"), 0),
    )
    return counted
