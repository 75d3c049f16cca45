"""The rows of tools; import them from here."""

from __future__ import annotations

from tools.models.catalogue import CatalogueTool
from tools.models.definition import ToolDefinition

__all__ = ["CatalogueTool", "ToolDefinition"]
