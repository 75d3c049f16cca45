"""Deletion of passages with their vectors, without loading them: there may be thousands."""

from __future__ import annotations

from typing import Final

from heartbit_site.base.query import execute

_EMBEDDINGS: Final = """
DELETE FROM memory_passage_embedding e USING memory_passage p
WHERE p.id = e.passage_id AND p.document_id = ANY(%s)
"""
_PASSAGES: Final = "DELETE FROM memory_passage WHERE document_id = ANY(%s)"


def delete_passages(documents: list[int]) -> None:
    """Delete all passages of documents, by their ids, with their vectors."""
    execute(_EMBEDDINGS, [documents])
    execute(_PASSAGES, [documents])
