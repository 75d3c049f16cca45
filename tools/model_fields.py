"""Fields of Django models as JSON Schemas, and their values to and from JSON.

Usage::

    field = field_of(Order, "status")
    schema_of(field)           # {"type": "string", "enum": ["new", "sent"], "description": ...}
    value_of(field, "sent")    # raises Django's ValidationError if it is not a value of the field
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from django.core.exceptions import FieldDoesNotExist
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from heartbit_site.base.errors import ConfigurationError
from tools.texts.near_names import hint

ModelField: TypeAlias = "models.Field[Any, Any]"

# The first one that fits: a DateTimeField is a DateField too.
_TYPES: Final[tuple[tuple[type[models.Field[Any, Any]], dict[str, Any]], ...]] = (
    (models.BooleanField, {"type": "boolean"}),
    (models.IntegerField, {"type": "integer"}),
    (models.FloatField, {"type": "number"}),
    (models.DecimalField, {"anyOf": [{"type": "number"}, {"type": "string"}]}),
    (models.DateTimeField, {"type": "string", "format": "date-time"}),
    (models.DateField, {"type": "string", "format": "date"}),
    # JSON Schema's format "time" wants a zone, which Django's field refuses.
    (models.TimeField, {"type": "string", "pattern": r"^\d{2}:\d{2}(:\d{2})?$"}),
    (models.DurationField, {"type": "string", "format": "duration"}),
    (models.UUIDField, {"type": "string", "format": "uuid"}),
    (models.GenericIPAddressField, {"type": "string"}),
    (models.JSONField, {}),
    (models.CharField, {"type": "string"}),
    (models.TextField, {"type": "string"}),
)
_EXACT = 2**53  # integers beyond it are not exact in every JSON parser


def field_of(model: type[models.Model], name: str) -> ModelField:
    """Return a model's own field.

    Raises:
        ConfigurationError: There is no such field, or its type has no JSON form.
    """
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        names = [known.name for known in model._meta.concrete_fields]
        raise ConfigurationError(
            f"{model.__name__} has no field {name!r}; {hint(name, names)}."
        ) from None
    if not isinstance(field, models.Field) or _type_of(field) is None:
        raise ConfigurationError(
            f"{model.__name__}.{name} is a {type(field).__name__}, which a tool cannot take or "
            "show: leave it out."
        )
    return field


def schema_of(field: ModelField) -> dict[str, Any]:
    """Return the JSON Schema of a field's values, without null: type, choices and bounds."""
    schema = dict(_type_of(field) or {})
    choices = _choices(field)
    if choices:
        schema["enum"] = list(choices)
    elif isinstance(field, models.CharField) and field.max_length is not None:
        schema["maxLength"] = field.max_length
    elif schema.get("type") == "integer":
        schema |= _bounds(field)
    text = _description(field, choices)
    return {**schema, "description": text} if text else schema


def writable(schema: dict[str, Any], field: ModelField) -> dict[str, Any]:
    """Return the schema of a value to store: with null, empty text and its default."""
    schema = dict(schema)
    if "enum" in schema and field.blank and field.empty_strings_allowed and not field.null:
        schema["enum"] = list(dict.fromkeys([*schema["enum"], ""]))
    if field.null and field.blank:  # Django accepts no empty value otherwise
        text = schema.pop("description", None)
        schema = {"anyOf": [schema, {"type": "null"}]} | ({"description": text} if text else {})
    for plain in (bool, int, str):  # an enumeration's member is one; NOT_PROVIDED is not
        if isinstance(field.default, plain):
            return {**schema, "default": plain(field.default)}
    return schema


def value_of(field: ModelField, value: Any) -> Any:
    """Return a JSON value in the field's own type.

    Raises:
        ValidationError: It is not a value of this type.
    """
    return _plain(field).to_python(value)


def _plain(field: ModelField) -> ModelField:
    """Return the field itself, or the one that a relation refers to."""
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    return field


def has_json_form(field: ModelField) -> bool:
    """Return True if values of the field can be shown as JSON."""
    return _type_of(field) is not None


def _type_of(field: ModelField) -> dict[str, Any] | None:
    plain = _plain(field)
    if isinstance(plain, models.FileField):
        return None
    return next((schema for kind, schema in _TYPES if isinstance(plain, kind)), None)


def _choices(field: ModelField) -> dict[Any, str]:
    """Return the choices as they are stored, with their names for people."""
    return {value: str(label) for value, label in field.flatchoices if value not in (None, "")}


def _bounds(field: ModelField) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for check in field.validators:
        limit = getattr(check, "limit_value", None)
        if not isinstance(limit, int) or abs(limit) > _EXACT:
            continue
        if isinstance(check, MinValueValidator):
            found["minimum"] = max(limit, found.get("minimum", limit))
        elif isinstance(check, MaxValueValidator):
            found["maximum"] = min(limit, found.get("maximum", limit))
    return found


def _description(field: ModelField, choices: dict[Any, str]) -> str:
    parts = [str(field.help_text).strip()]
    if field.related_model is not None and not isinstance(field.related_model, str):
        parts.append(f"Key of the {field.related_model._meta.verbose_name}.")
    named = [f"{value}: {label}" for value, label in choices.items() if str(value) != label]
    if named:
        parts.append(f"{'; '.join(named)}.")
    return " ".join(part if part[-1] in ".?!" else f"{part}." for part in parts if part)
