"""Options of the database columns that store settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from annotated_types import Ge, Le
from django.core.validators import MaxValueValidator, MinValueValidator
from pydantic.fields import FieldInfo

from heartbit_site.base.spec import Spec

_LARGEST = 2_147_483_647  # the bound of the column itself, which needs no validator


def column(model: type[Spec], name: str, *more: Any) -> dict[str, Any]:
    """Return default, bounds and help text for a Django field.

    The default is also the database's: during a rolling deploy the previous version still writes
    rows. Nullability, for the type checker, and a default list or object, which must be a function,
    are declared at the field itself.

    Args:
        model: The settings.
        name: The setting's name.
        more: Validators in addition to the bounds.
    """
    field = model.model_fields[name]
    default = model.default_of(name)
    options: dict[str, Any] = {"help_text": field.description or ""}
    if isinstance(default, str | int):
        options |= {"default": default, "db_default": default}
    if default in ("", [], {}):
        options["blank"] = True
    validators = list(more)
    for bound in _metadata(field.annotation, field.metadata):
        if isinstance(bound, Ge) and (bound.ge or default is None):  # its type rejects less
            validators.append(MinValueValidator(bound.ge))
        if isinstance(bound, Le) and float(str(bound.le)) < _LARGEST:
            validators.append(MaxValueValidator(bound.le))
    return options | ({"validators": validators} if validators else {})


def _metadata(annotation: Any, metadata: Iterable[Any]) -> Iterator[Any]:
    yield from metadata
    for part in get_args(annotation):
        if isinstance(part, FieldInfo):
            yield from part.metadata
        else:
            yield from _metadata(part, ())
