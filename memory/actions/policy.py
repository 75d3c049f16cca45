"""Save the settings of a workspace's memories, and embed texts with their model."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from django.db import transaction

from heartbit_site.base import amounts, audit
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import about
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from memory.choices import KeptDays
from memory.embeddings import table
from memory.embeddings.embedder import MOST_DIMENSIONS, Embedder, EmbeddingError, make_embedder
from memory.embeddings.meaning import collected_not_embedded, not_embedded, passages_not_embedded
from memory.embeddings.table import VectorTable
from memory.errors import InvalidMemoryError
from memory.models import CollectionItem, KnowledgeBase, MemoryItem, MemoryPolicy, Passage

logger = logging.getLogger(__name__)


def save_policy(
    workspace: Workspace, *, by: Actor, embedding_model: str, kept_days: int | None
) -> MemoryPolicy:
    """Save the settings, after a new embedding model has embedded one word.

    Memories are embedded with it in the background (``embed_memories``). Saving the same model
    again after a problem also retries the texts that it refused.

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
        audit.record_workspace(by, "memory.settings", workspace, details)
    return row


def memory_days(workspace: Workspace) -> int | None:
    """Return the days without use until a memory is erased; None: never.

    The smaller of the workspace's own value and of its tier's.
    """
    own = MemoryPolicy.objects.filter(workspace=workspace).values_list("kept_days", flat=True)
    limits = (own.first(), workspace.tier.memory_days if workspace.tier is not None else None)
    return min((days for days in limits if days is not None), default=None)


def _forget_refusals(workspace: Workspace, model: str) -> None:
    mark = table.refused_by(model)
    refused = MemoryItem.objects.filter(workspace=workspace, embedded_with=mark)
    refused.update(embedded_with="")
    bases = KnowledgeBase.objects.filter(workspace=workspace)
    Passage.objects.filter(base__in=bases, embedded_with=mark).update(embedded_with="")
    collected = CollectionItem.objects.filter(collection__workspace=workspace)
    collected.filter(embedded_with=mark).update(embedded_with="")


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


BATCH: Final = 32
_NAMED: Final = 5  # refused texts of a sentence


def embed_memories(*, goes_on: Callable[[], bool]) -> int:
    """Embed memories and passages until ``goes_on`` returns False; return their number.

    After a change of the model they are embedded again, the most recently changed first; meanwhile
    recall uses words and the vectors that exist. Two concurrent processes repeat work, but do no
    harm. A text that the model refuses is marked, and found by words only.
    """
    done = 0
    for policy in MemoryPolicy.objects.exclude(embedding_model=""):
        # Once for all batches, because an embedder learns how many texts its server takes.
        embedder = functools.cache(partial(make_embedder, policy.pk, policy.embedding_model))
        try:
            for embed_some in (_embed_memories, _embed_passages, _embed_collected):
                while goes_on() and (count := embed_some(policy, embedder)):
                    done += count
        except EmbeddingError as error:
            logger.warning("texts of workspace %d are not embedded: %s", policy.pk, error)
            _note(policy, str(error))
        else:
            _note(policy, _describe_refused(policy))
    return done


def _embed_memories(policy: MemoryPolicy, embedder: Callable[[], Embedder]) -> int:
    rows = not_embedded(policy.pk, policy.embedding_model).order_by("-updated_at")
    texts = dict(rows.values_list("pk", "text")[:BATCH])
    return _embed(policy, embedder, table.MEMORIES, texts, list(texts.values()))


def _embed_passages(policy: MemoryPolicy, embedder: Callable[[], Embedder]) -> int:
    bases = KnowledgeBase.objects.filter(workspace=policy.pk)
    rows = passages_not_embedded(bases, policy.embedding_model).order_by("base", "embedded_with")
    some = list(rows.select_related("document").defer("search")[:BATCH])
    texts = {row.pk: row.text for row in some}
    return _embed(policy, embedder, table.PASSAGES, texts, [row.full_text for row in some])


def _embed_collected(policy: MemoryPolicy, embedder: Callable[[], Embedder]) -> int:
    rows = collected_not_embedded(policy.pk, policy.embedding_model).order_by("-updated_at")
    texts = dict(rows.values_list("pk", "text")[:BATCH])
    return _embed(policy, embedder, table.COLLECTED, texts, list(texts.values()))


def _embed(
    policy: MemoryPolicy,
    embedder: Callable[[], Embedder],
    stored_in: VectorTable,
    texts: dict[int, str],
    full: list[str],
) -> int:
    """Embed the full texts of rows; return the number of rows that need no further attempt."""
    model = policy.embedding_model
    if not texts:
        return 0
    vectors = dict(zip(texts, embedder().embed_texts(full), strict=True))
    made = {row: vector for row, vector in vectors.items() if vector is not None}
    if {len(vector) for vector in made.values()} - {policy.dimensions}:
        raise EmbeddingError(
            f"{model} returns vectors of another size than before: choose it again."
        )
    refused = {row: text for row, text in texts.items() if row not in made}
    count = table.refuse(stored_in, model, refused) if refused else 0
    if made:
        count += table.store(stored_in, model, {row: texts[row] for row in made}, [*made.values()])
    return count


def _describe_refused(policy: MemoryPolicy) -> str:
    """Return a sentence that names the texts that the model refused; empty if it refused none."""
    mark = table.refused_by(policy.embedding_model)
    memories = MemoryItem.objects.live().filter(workspace=policy.pk, embedded_with=mark)
    bases = KnowledgeBase.objects.filter(workspace=policy.pk)
    passages = Passage.objects.filter(base__in=bases, embedded_with=mark)
    items = CollectionItem.objects.filter(
        collection__workspace=policy.pk, embedded_with=mark
    ).select_related("collection")
    count = memories.count() + passages.count() + items.count()
    if not count:
        return ""
    named = [f"memory {number}" for number in memories.values_list("pk", flat=True)[:_NAMED]]
    named += [row.citation for row in passages.select_related("document")[:_NAMED]]
    named += [f"{item.key} of {item.collection}" for item in items[:_NAMED]]
    more = ", and others" if count > _NAMED else ""
    return (
        f"{policy.embedding_model} refused {amounts.counted(count, 'text')}, found by words only "
        f"(they may be too long for it): {', '.join(named[:_NAMED])}{more}. "
        "Save the settings again to retry."
    )


def _note(policy: MemoryPolicy, problem: str) -> None:
    if policy.problem != problem:
        MemoryPolicy.objects.filter(pk=policy.pk, embedding_model=policy.embedding_model).update(
            problem=problem
        )
