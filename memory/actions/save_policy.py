"""Save the settings of a workspace's memories."""

from __future__ import annotations

from django.db import transaction

from heartbit_site.base import audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import about
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from memory.choices import KeptDays
from memory.embeddings import table
from memory.embeddings.embedder import MOST_DIMENSIONS, EmbeddingError, make_embedder
from memory.errors import InvalidMemoryError
from memory.models import KnowledgeBase, MemoryItem, MemoryPolicy, Passage


def save_policy(
    workspace: Workspace, *, by: Actor, embedding_model: str, kept_days: int | None
) -> MemoryPolicy:
    """Save the settings, after a new embedding model has embedded one word.

    Memories are embedded with it in the background (``embed_memories``); if the same model is saved
    again after a problem, also the texts that it refused.

    Args:
        workspace: The workspace.
        by: Author.
        embedding_model: ``local``, or ``provider:model``; empty: recall by words alone.
        kept_days: 7, 30 or 90; None: forever.

    Raises:
        InvalidMemoryError: The model does not answer, or the number of days is not one of these.
    """
    require(by, "workspace:manage", workspace_id=workspace.pk)
    with about("kept_days"):
        if kept_days is not None and kept_days not in KeptDays.values:
            raise InvalidMemoryError(f"Memories can be kept for 7, 30 or 90 days, not {kept_days}.")
    model = embedding_model.strip()
    row = MemoryPolicy.objects.filter(workspace=workspace).first()
    row = row or MemoryPolicy(workspace=workspace)
    if model != row.embedding_model or row.problem:
        with about("embedding_model"):
            row.dimensions = _try(workspace, model) if model else None
    is_retried = row.problem != ""
    row.embedding_model, row.kept_days, row.problem = model, kept_days, ""
    with transaction.atomic():
        row.save()
        if is_retried:
            _forget_refusals(workspace, model)
        details = {"embedding_model": model, "kept_days": kept_days}
        audit.record(
            by,
            "memory.settings",
            workspace=workspace,
            target=f"workspace:{workspace.pk}",
            label=workspace.slug,
            details=details,
        )
    return row


def _forget_refusals(workspace: Workspace, model: str) -> None:
    mark = table.refused_by(model)
    refused = MemoryItem.objects.filter(workspace=workspace, embedded_with=mark)
    refused.update(embedded_with="")
    bases = KnowledgeBase.objects.filter(workspace=workspace)
    Passage.objects.filter(base__in=bases, embedded_with=mark).update(embedded_with="")


def _try(workspace: Workspace, model: str) -> int:
    """Return the number of dimensions of a model's vectors, and ensure their index exists."""
    try:
        size = len(make_embedder(workspace.pk, model).embed_query("tea"))
        if not 1 <= size <= MOST_DIMENSIONS:
            raise EmbeddingError(
                f"{model} answers with {size:,} dimensions, and the limit of the database's "
                f"index is "
                f"{MOST_DIMENSIONS:,}: choose a smaller model."
            )
        table.require_index(size)
    except EmbeddingError as error:
        raise InvalidMemoryError(str(error)) from error
    return size
