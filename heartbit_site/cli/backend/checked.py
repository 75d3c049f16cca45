"""Bodies of operations, checked before they are sent. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.contract.validation import sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

In = TypeVar("In", bound=BaseModel)


def checked(model: type[In], given: Mapping[str, Any]) -> In:
    """Return what an operation takes, of what a command line says.

    Raises:
        CommandError: It would be refused; the sentence names the field.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        problem["loc"] = ("body", "given", *problem["loc"])
        raise UsageError(sentence(problem)) from None
