"""Schemas of an OpenAPI document as JSON Schema of a tool's parameters. Pure."""

from __future__ import annotations

import re
from typing import Any, Final

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema
from heartbit_site.base.schema_references import referenced
from tools.openapi.document import OpenApiError, Table, inside

MAX_DEFINITIONS: Final = 200
MAX_PARTS: Final = 5_000
_COPIED: Final = frozenset(
    "type enum const default format description minimum maximum exclusiveMinimum "  # noqa: SIM905
    "exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems minContains "
    "maxContains minProperties maxProperties required dependentRequired".split()
)
_ONE: Final = frozenset(
    "items additionalProperties not if then else contains propertyNames "  # noqa: SIM905
    "unevaluatedItems unevaluatedProperties".split()
)
_SEVERAL: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_NULL: Final = {"type": "null"}


class SchemaReader:
    """Reader of the schemas of one operation, with those that they refer to.

    A schema that is referred to is read once, into the definitions: a recursive one stays finite.
    Examples, extensions and what only a response has are left out.
    """

    def __init__(self, document: Table) -> None:
        self._document = document
        self._is_30 = str(document["openapi"]).startswith("3.0")
        self._names: dict[str, str] = {}
        self._unread: list[str] = []
        self._parts = 0

    def definitions(self) -> dict[str, Any]:
        """Return the schemas that the schemas read so far refer to, by their names in ``$defs``.

        Raises:
            OpenApiError: As for ``read``.
        """
        found: dict[str, Any] = {}
        while self._unread:
            reference = self._unread.pop()
            found[self._names[reference]] = self.read(referenced(reference, self._document))
        return dict(sorted(found.items()))

    def read(self, schema: Any) -> Any:
        """Return a schema as JSON Schema.

        Raises:
            OpenApiError: It is not a schema, refers to a part that is missing or outside of the
                document, or is too large.
        """
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise OpenApiError(f"its schemas have more than {MAX_PARTS:,} parts")
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise OpenApiError("one of its schemas is not an object")
        if isinstance(reference := schema.get("$ref"), str):
            beside = {} if self._is_30 else {k: v for k, v in schema.items() if k != "$ref"}
            return {"$ref": f"#/$defs/{self._name_of(reference)}", **self._read(beside)}
        return self._read(schema)

    def _read(self, schema: Table) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _COPIED:
                found[key] = value
            elif key in _ONE:
                found[key] = self.read(value)
            elif key in _SEVERAL and isinstance(value, list):
                found[key] = [self.read(each) for each in value]
            elif key in _NAMED and isinstance(value, dict):
                found[key] = {
                    name: self.read(each)
                    for name, each in value.items()
                    if not self._is_read_only(each)
                }
            elif key == "pattern" and _is_pattern(value):
                found[key] = value
        self._leave_out_required(schema, found)
        return self._in_new_words(schema, found) if self._is_30 else found

    def _leave_out_required(self, schema: Table, found: dict[str, Any]) -> None:
        """Remove names that are not required of a request: read-only ones, and no list at all."""
        required = found.get("required")
        if not isinstance(required, list):
            found.pop("required", None)  # OpenAPI 2 wrote a boolean at the property
            return
        properties = schema.get("properties")
        own = properties if isinstance(properties, dict) else {}
        left = [name for name in required if not self._is_read_only(own.get(name))]
        found["required"] = list(dict.fromkeys(left))

    def _is_read_only(self, schema: Any) -> bool:
        if isinstance(schema, dict) and isinstance(reference := schema.get("$ref"), str):
            schema = referenced(reference, self._document)
        return isinstance(schema, dict) and schema.get("readOnly") is True

    def _in_new_words(self, schema: Table, found: dict[str, Any]) -> dict[str, Any]:
        """Translate what JSON Schema wrote otherwise at the time of OpenAPI 3.0."""
        for bound in ("minimum", "maximum"):
            exclusive = f"exclusive{bound.title()}"
            if isinstance(is_exclusive := found.get(exclusive), bool):
                del found[exclusive]
                if is_exclusive and bound in found:
                    found[exclusive] = found.pop(bound)
        if schema.get("nullable") is not True:
            return found
        if not isinstance(found.get("type"), str):
            return {"anyOf": [found, _NULL]}
        found["type"] = [found["type"], "null"]
        if isinstance(values := found.get("enum"), list) and None not in values:
            found["enum"] = [*values, None]
        return found

    def _name_of(self, reference: str) -> str:
        """Return the name of the definition that a reference leads to."""
        if reference in self._names:
            return self._names[reference]
        if referenced(inside(reference), self._document) is None:
            raise OpenApiError(f"its reference {reference[:100]!r} leads nowhere")
        if len(self._names) >= MAX_DEFINITIONS:
            raise OpenApiError(f"it refers to more than {MAX_DEFINITIONS} schemas")
        own = _NOT_IN_NAMES.sub("_", reference.rpartition("/")[2])[:60] or "schema"
        name, taken = own, set(self._names.values())
        while name in taken:
            name = f"{own}_{len(taken)}"
        self._names[reference] = name
        self._unread.append(reference)
        return name


def _is_pattern(pattern: Any) -> bool:
    """Return True if a pattern can be checked here; the API checks the others itself."""
    try:
        check_schema({"pattern": pattern})
    except ConfigurationError:
        return False
    return True
