"""Admin pages of memories."""

from __future__ import annotations

from memory.admin import item as item
from memory.admin import policy as policy
