"""Models of the memory app; import them from this package."""

from __future__ import annotations

from memory.models.change import MemoryChange
from memory.models.item import MemoryItem

__all__ = ["MemoryChange", "MemoryItem"]
