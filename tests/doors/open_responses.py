"""Check of responses and events against the types of Open Responses."""

from __future__ import annotations

from enum import Enum
from typing import Any, get_args

from openresponses_types import types
from pydantic import BaseModel


def check_response(content: Any) -> None:
    """Raise unless a response has the published form."""
    types.ResponseResource.model_validate(content)


def check_event(content: Any) -> None:
    """Raise unless an event has the published form of its type."""
    _EVENTS[content["type"]].model_validate(content)


def _names(model: type[BaseModel]) -> list[str]:
    kind: Any = model.model_fields["type"].annotation
    is_enum = isinstance(kind, type) and issubclass(kind, Enum)
    return [one.value for one in kind] if is_enum else list(get_args(kind))


_EVENTS: dict[str, type[BaseModel]] = {
    name: model
    for model in vars(types).values()
    if isinstance(model, type) and issubclass(model, BaseModel) and "Streaming" in model.__name__
    for name in _names(model)
}
