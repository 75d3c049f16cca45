"""Admin pages of memories and knowledge bases."""

from __future__ import annotations

from memory.admin import item as item
from memory.admin import knowledge as knowledge
from memory.admin import policy as policy
