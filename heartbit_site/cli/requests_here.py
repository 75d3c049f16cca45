"""Requests of the REST API that a command makes without a server: checked alike, refused alike."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.errors import USAGE, CommandError
from heartbit_site.contract.validation import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

B = TypeVar("B", bound=BaseModel)


def checked(form: type[B], given: Mapping[str, Any]) -> B:
    """Return what a request would hold.

    Raises:
        CommandError: It would be refused.
    """
    try:
        return form.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        problem["loc"] = ("body", "given", *problem["loc"])
        raise CommandError(sentence(problem), USAGE) from None


@contextmanager
def asked() -> Iterator[None]:
    """Refuse what cannot be as it was asked: it is no matter of the installation's settings."""
    try:
        yield
    except ConfigurationError as error:
        raise CommandError(str(error), USAGE) from None
