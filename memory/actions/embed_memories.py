"""Embed the memories and passages that have no vector of their workspace's model."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from memory.embeddings import table
from memory.embeddings.choice import make_embedder
from memory.embeddings.meaning import not_embedded, passages_not_embedded
from memory.embeddings.protocol import EmbeddingError
from memory.models import KnowledgeBase, MemoryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.embeddings.table import VectorTable

logger = logging.getLogger(__name__)

BATCH: Final = 32


def embed_memories(*, goes_on: Callable[[], bool]) -> int:
    """Embed memories and passages of all workspaces until ``goes_on`` says no; return their number.

    After a change of the model they are embedded again, the last changed first, while recall
    answers by words and by the vectors that are there. Two processes at once do work twice, and
    nothing wrong.
    """
    done = 0
    for policy in MemoryPolicy.objects.exclude(embedding_model=""):
        try:
            for embed_some in (_embed_memories, _embed_passages):
                while goes_on() and (count := embed_some(policy)):
                    done += count
        except EmbeddingError as error:
            logger.warning("texts of workspace %d are not embedded: %s", policy.pk, error)
            _note(policy, str(error))
        else:
            _note(policy, "")
    return done


def _embed_memories(policy: MemoryPolicy) -> int:
    rows = not_embedded(policy.pk, policy.embedding_model).order_by("-updated_at")
    texts = dict(rows.values_list("pk", "text")[:BATCH])
    return _embed(policy, table.MEMORIES, texts, list(texts.values()))


def _embed_passages(policy: MemoryPolicy) -> int:
    bases = KnowledgeBase.objects.filter(workspace=policy.pk)
    rows = passages_not_embedded(bases, policy.embedding_model).order_by("base", "embedded_with")
    some = list(rows.select_related("document").defer("search")[:BATCH])
    texts = {row.pk: row.text for row in some}
    return _embed(policy, table.PASSAGES, texts, [row.full_text for row in some])


def _embed(
    policy: MemoryPolicy, stored_in: VectorTable, texts: dict[int, str], full: list[str]
) -> int:
    """Embed the full texts of rows; return the number of vectors that were stored."""
    model = policy.embedding_model
    if not texts:
        return 0
    vectors = make_embedder(policy.pk, model).embed_texts(full)
    if {len(vector) for vector in vectors} != {policy.dimensions}:
        raise EmbeddingError(f"{model} answers with other vectors than before: choose it again.")
    return table.store(stored_in, model, texts, vectors)


def _note(policy: MemoryPolicy, problem: str) -> None:
    if policy.problem != problem:
        MemoryPolicy.objects.filter(pk=policy.pk, embedding_model=policy.embedding_model).update(
            problem=problem
        )
