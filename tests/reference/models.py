"""Settings of pydantic models as tables, with the models that they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.reference.markdown import properties

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel


def sections(models: Mapping[str, type[BaseModel]]) -> str:
    """Return a part for each model, by its title, and for each model that its fields name."""
    parts, others = [], {}
    for title, model in models.items():
        schema = model.model_json_schema(by_alias=True)
        others |= schema.pop("$defs", {})
        parts.append(part(title, schema))
    return "".join([*parts, *(part(name, schema) for name, schema in sorted(others.items()))])


def part(title: str, schema: Mapping[str, object]) -> str:
    """Return the part of one object."""
    text = str(schema.get("description", "")).strip()
    described = f"{text}\n\n" if text else ""
    fields = properties(schema) if schema.get("properties") else "A value without fields.\n"
    return f"\n## {title}\n\n{described}{fields}"
