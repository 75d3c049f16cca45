"""Embed the memories and passages that have no vector of their workspace's model."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from heartbit_site.base import amounts
from memory.embeddings import table
from memory.embeddings.embedder import Embedder, EmbeddingError, make_embedder
from memory.embeddings.meaning import not_embedded, passages_not_embedded
from memory.embeddings.table import VectorTable
from memory.models import KnowledgeBase, MemoryItem, MemoryPolicy, Passage

logger = logging.getLogger(__name__)

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
            for embed_some in (_embed_memories, _embed_passages):
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
    count = memories.count() + passages.count()
    if not count:
        return ""
    named = [f"memory {number}" for number in memories.values_list("pk", flat=True)[:_NAMED]]
    named += [row.citation for row in passages.select_related("document")[:_NAMED]]
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
