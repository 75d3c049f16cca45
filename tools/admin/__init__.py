"""The admin of tools; one file a model."""

from __future__ import annotations

from tools.admin import credential  # noqa: F401  importing a module registers its classes
