"""Options that are derived from the body of a request."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import Field, JsonValue

from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import Given, body_options
from heartbit_site.cli.options.shared import PrintingCommand, with_groups
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.contract.model import Body, changes


class PlanterIn(Body):
    """A body with a field of each type."""

    name: str = Field(description="Name in lists.")
    shade: Literal["full", "half"] = Field("half", description="Shade that it stands in.")
    litres: Annotated[int, Field(ge=1)] | None = Field(None, description="The litres a day.")
    herbs: list[str] = Field(default_factory=list, description="Herbs; null: none yet.")
    watered: bool = Field(default=True, description="Water comes by itself.")
    labels: dict[str, JsonValue] = Field(default_factory=dict)


@changes("shade")
class PlanterChangeIn(PlanterIn):
    """A change of that body."""


OPTIONS = body_options(PlanterIn, name=typer.Option(None, "--called", "-c"))


def parsed(*arguments: str) -> Given:
    found: list[Given] = []
    app = common.command()

    @app.command(cls=PrintingCommand)
    @with_groups
    def plant(*, settings: Annotated[Given, OPTIONS]) -> int:
        found.append(settings)
        return 0

    made: Any = typer.main.get_command(app)
    made.main([*arguments], standalone_mode=False)
    return found[0]


def test_only_what_is_named_is_given() -> None:
    assert parsed() == {}
    assert parsed("--called", "x", "--shade", "full", "--litres", "3", "--no-watered") == {
        "name": "x",
        "shade": "full",
        "litres": 3,
        "watered": False,
    }
    assert parsed("--herb", "dill", "--herb", "sage", "--labels", '{"a": 1}') == {
        "herbs": ["dill", "sage"],
        "labels": {"a": 1},
    }


def test_the_help_opens_with_a_verb_and_has_the_default() -> None:
    helps = {one.name: one.default.help for one in OPTIONS.parameters}
    assert helps == {
        "name": "Set the name in lists.",
        "shade": "Set the shade that it stands in; half unless set.",
        "litres": "Set the litres a day.",
        "herbs": "Set the herbs; may be repeated.",
        "watered": "Set whether water comes by itself.",
        "labels": "Set the labels.",
    }


def test_a_value_that_is_no_object_is_refused_by_the_options_name() -> None:
    with pytest.raises(UsageError, match="--labels takes a JSON object"):
        parsed("--labels", "[]")


def test_a_change_leaves_out_any_field_but_has_no_fixed_one() -> None:
    assert PlanterChangeIn.model_validate({}).model_dump(exclude_unset=True) == {}
    assert PlanterChangeIn.model_validate({"name": None, "litres": 2}).litres == 2
    for wrong in ({"shade": "half"}, {"litres": 0}, {"name": 1}):
        with pytest.raises(ValueError, match="PlanterChangeIn"):
            PlanterChangeIn.model_validate(wrong)
