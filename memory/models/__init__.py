"""Models of the memory app; import them from this package."""

from __future__ import annotations

from memory.models.collection import Collection, CollectionEmbedding, CollectionItem
from memory.models.item import MemoryChange, MemoryEmbedding, MemoryItem, MemoryPolicy
from memory.models.knowledge import (
    Document,
    DocumentContent,
    KnowledgeBase,
    Passage,
    PassageEmbedding,
)
