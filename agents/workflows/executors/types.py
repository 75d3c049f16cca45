"""Types of messages: JSON Schema and conversion, from the annotations of functions."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from heartbit_site.base.errors import ConfigurationError


class _Untitled(GenerateJsonSchema):
    """Generator of schemas without the titles that repeat the names of fields."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


class MessageType:
    """Type of a message.

    Args:
        annotation: A type that pydantic knows, such as a model.
        place: Subject of errors, such as ``The message of 'grade'``.
    """

    def __init__(self, annotation: Any, place: str) -> None:
        self._place = place
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        except PydanticUserError as error:
            raise ConfigurationError(
                f"{place} has a type that cannot be converted to JSON: {error.message}"
            ) from None

    def schema(self, mode: Literal["validation", "serialization"] = "validation") -> dict[str, Any]:
        """Return the JSON Schema of the type; empty: any value."""
        try:
            found = self._adapter.json_schema(schema_generator=_Untitled, mode=mode)
        except PydanticUserError as error:
            raise ConfigurationError(
                f"{self._place} has a type without a JSON Schema: {error.message}"
            ) from None
        found.pop("title", None)
        return found

    def read(self, value: Any) -> Any:
        """Return a JSON value as an object of the type; the value itself is not shared.

        Raises:
            ValueError: The value does not fit.
        """
        try:
            return self._adapter.validate_python(copy.deepcopy(value))
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, one['loc'])) or 'the value'}: {one['msg']}"
                for one in error.errors(include_url=False, include_context=False)
            )
            raise ValueError(f"{self._place} does not fit: {problems}") from None

    def write(self, value: Any) -> Any:
        """Return an object of the type as a JSON value.

        Raises:
            ValueError: The object cannot be represented.
        """
        return self._adapter.dump_python(value, mode="json", warnings="error")


def schema_of(type_or_schema: Any, place: str) -> dict[str, Any] | None:
    """Return the JSON Schema of a type; a schema is returned unchanged, and None as None."""
    if type_or_schema is None or isinstance(type_or_schema, Mapping):
        return None if type_or_schema is None else dict(type_or_schema)
    return MessageType(type_or_schema, place).schema()
