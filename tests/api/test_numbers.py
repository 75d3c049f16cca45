"""A number in a request is a number: Python takes True for 1, and False for 0."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from heartbit_site import contract
from heartbit_site.contract.model import Body

if TYPE_CHECKING:
    from collections.abc import Iterator

for found in pkgutil.iter_modules(contract.__path__):
    importlib.import_module(f"{contract.__name__}.{found.name}")


def bodies(of: type[Body] = Body) -> Iterator[type[Body]]:
    for body in of.__subclasses__():
        yield body
        yield from bodies(body)


def types_of(schema: dict[str, Any]) -> set[str]:
    """The types of a property, by its schema."""
    choices = schema.get("anyOf", [schema])
    return {str(choice.get("type")) for choice in choices}


NUMBERS = [
    (body, name)
    for body in bodies()
    for name, schema in body.model_json_schema()["properties"].items()
    if types_of(schema) & {"integer", "number"} and "boolean" not in types_of(schema)
]


def test_there_are_numbers() -> None:
    assert len(NUMBERS) >= 10


@pytest.mark.parametrize(
    ("body", "name"), NUMBERS, ids=lambda value: getattr(value, "__name__", value)
)
@pytest.mark.parametrize("value", [True, False])
def test_a_truth_is_no_number(body: type[Body], name: str, value: bool) -> None:  # noqa: FBT001
    with pytest.raises(ValidationError) as caught:
        body.model_validate({name: value})
    assert (name,) in [error["loc"][:1] for error in caught.value.errors()]
