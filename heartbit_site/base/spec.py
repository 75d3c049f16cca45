"""Base of settings: the one list of a thing's names, types, defaults, bounds and meaning. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """Base of settings: rejects unknown keys and values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @classmethod
    def default_of(cls, name: str) -> Any:
        """Return a setting's default, or ``PydanticUndefined`` for a required setting."""
        return cls.model_fields[name].get_default(call_default_factory=True)
