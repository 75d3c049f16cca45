"""The admin of tools; one file a model."""

from __future__ import annotations

from tools.admin import (  # noqa: F401  importing a module registers its classes
    credential,
)
