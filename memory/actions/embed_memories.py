"""Embed the memories that have no vector of their workspace's model."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from memory.embeddings import table
from memory.embeddings.choice import make_embedder
from memory.embeddings.meaning import not_embedded
from memory.embeddings.protocol import EmbeddingError
from memory.models import MemoryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

BATCH: Final = 32


def embed_memories(*, goes_on: Callable[[], bool]) -> int:
    """Embed memories of all workspaces until ``goes_on`` says no; return their number.

    After a change of the model they are embedded again, the last changed first, while recall
    answers by words and by the vectors that are there. Two processes at once do work twice, and
    nothing wrong.
    """
    done = 0
    for policy in MemoryPolicy.objects.exclude(embedding_model=""):
        try:
            while goes_on() and (count := _embed_some(policy)):
                done += count
        except EmbeddingError as error:
            logger.warning("memories of workspace %d wait: %s", policy.pk, error)
            _note(policy, str(error))
        else:
            _note(policy, "")
    return done


def _embed_some(policy: MemoryPolicy) -> int:
    model = policy.embedding_model
    rows = not_embedded(policy.pk, model).order_by("-updated_at")
    texts = dict(rows.values_list("pk", "text")[:BATCH])
    if not texts:
        return 0
    vectors = make_embedder(policy.pk, model).embed_texts(list(texts.values()))
    if {len(vector) for vector in vectors} != {policy.dimensions}:
        raise EmbeddingError(f"{model} answers with other vectors than before: choose it again.")
    return table.store(model, texts, vectors)


def _note(policy: MemoryPolicy, problem: str) -> None:
    if policy.problem != problem:
        MemoryPolicy.objects.filter(pk=policy.pk, embedding_model=policy.embedding_model).update(
            problem=problem
        )
