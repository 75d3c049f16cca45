"""Where results go, as options name it and as it is shown. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def target_text(target: Mapping[str, Any]) -> str:
    """A target as people read it."""
    match target:
        case {"kind": "email", "to": list() as addresses}:
            return ", ".join(map(str, addresses))
        case {"kind": "webhook", "endpoint": endpoint}:
            return f"webhook {endpoint}"
        case {"kind": "artifact", "name": name}:
            return f"artifact {name}"
    return str(target.get("kind", ""))
