"""Models of the memory app; import them from this package."""

from __future__ import annotations

from memory.models.item import MemoryChange, MemoryEmbedding, MemoryItem
from memory.models.knowledge import (
    Document,
    DocumentContent,
    KnowledgeBase,
    Passage,
    PassageEmbedding,
)
from memory.models.policy import MemoryPolicy
