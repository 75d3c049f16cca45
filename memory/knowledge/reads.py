"""Queries of knowledge bases with their counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from memory.choices import DocumentState

if TYPE_CHECKING:
    from memory.models import KnowledgeBase


def with_counts(bases: QuerySet[KnowledgeBase]) -> QuerySet[KnowledgeBase]:
    """Count each base's documents, those that are unread or failed, and its passages."""
    unread = Q(documents__state__in=[DocumentState.QUEUED, DocumentState.READING])
    failed = Q(documents__state=DocumentState.FAILED)
    counted: QuerySet[KnowledgeBase] = bases.annotate(
        document_count=Count("documents"),
        unread_count=Count("documents", filter=unread),
        failed_count=Count("documents", filter=failed),
        passage_count=Coalesce(Sum("documents__passage_count"), 0),
    )
    return counted
