"""Protocol of embedding models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from heartbit_site.base.errors import HeartbitError

#: pgvector's limit of an index over ``halfvec``.
MOST_DIMENSIONS: Final = 4_000

Vector = list[float]


class EmbeddingError(HeartbitError):
    """The embedding model cannot be used, or does not answer."""


class Embedder(Protocol):
    """An embedding model.

    Its methods block; they are called in threads, never on the event loop.
    """

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query.

        Raises:
            EmbeddingError: The model does not answer.
        """
        ...

    def embed_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vectors of memories, in order; None for a text that the model refuses.

        Raises:
            EmbeddingError: The model does not answer.
        """
        ...
