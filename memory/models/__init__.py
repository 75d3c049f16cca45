"""Models of the memory app; import them from this package."""

from __future__ import annotations

from memory.models.change import MemoryChange
from memory.models.embedding import MemoryEmbedding
from memory.models.item import MemoryItem
from memory.models.knowledge import (
    Document,
    DocumentContent,
    KnowledgeBase,
    Passage,
    PassageEmbedding,
)
from memory.models.policy import MemoryPolicy

__all__ = [
    "Document",
    "DocumentContent",
    "KnowledgeBase",
    "MemoryChange",
    "MemoryEmbedding",
    "MemoryItem",
    "MemoryPolicy",
    "Passage",
    "PassageEmbedding",
]
