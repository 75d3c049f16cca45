"""Bodies of operations, checked before they are sent. No Django."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.invocation import INVOCATION
from heartbit_site.contract.problem import sentence

In = TypeVar("In", bound=BaseModel)


def checked(model: type[In], given: Mapping[str, Any]) -> In:
    """Return what an operation takes, of what a command line says.

    Raises:
        CommandError: It would be refused; the sentence names the option, or else the field.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        if "equal" in problem["type"] and str(problem["loc"][-1]).endswith("_seconds"):
            problem["msg"] += " seconds"
        problem["loc"] = ("body", "given", *problem["loc"])
        raise UsageError(_with_option(sentence(problem), problem["loc"][2:])) from None


def checked_change(model: type[In], given: Mapping[str, Any]) -> In:
    """Return what an operation takes that changes what the command line names.

    Raises:
        CommandError: Nothing is named, or as for ``checked``.
    """
    if not given:
        raise UsageError(f"Say what is to be different: `{INVOCATION.command} --help`.")
    return checked(model, given)


def _with_option(said: str, location: Sequence[int | str]) -> str:
    """Return a sentence about a field with the option that it was typed as, if there is one."""
    steps = [str(step) for step in location]
    places = ["_".join(steps[:count]) for count in range(len(steps), 0, -1)]
    option = next((INVOCATION.options[one] for one in places if one in INVOCATION.options), "")
    return said.replace(f"The field {'.'.join(steps)} ", f"{option} ", 1) if option else said
