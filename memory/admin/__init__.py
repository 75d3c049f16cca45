"""Admin pages of memories and knowledge bases."""

from __future__ import annotations

from memory.admin import document as document
from memory.admin import item as item
from memory.admin import knowledge_base as knowledge_base
from memory.admin import policy as policy
