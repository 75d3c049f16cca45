"""The test of a schedule's times: whether a firing starts its run at all. No Django.

Usage::

    test = read_test({"tool": "read_feed", "when": "len(result.items) > 0"})
    test.holds(result={"items": []}, last=None)  # False: the firing is skipped
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, JsonValue, ValidationError, model_validator

from agents.definitions import validators as agent_rules
from agents.definitions.validation_messages import phrase, sentence_of
from agents.workflows.expressions.errors import ExpressionError
from agents.workflows.expressions.expression import MAX_CHARACTERS, compile_expression
from heartbit_site.base.spec import Spec

#: Names that a test's condition may read.
ROOTS: Final = ("result", "last")
_Text = Annotated[str, AfterValidator(agent_rules.storable)]


class SlotTest(Spec):
    """A tool, a workflow or a condition that decides a firing before any model is asked.

    The condition reads ``result``, that of the tool or the workflow, and ``last``: the schedule's
    last ended run as {status, output, data}, or null.
    """

    tool: Annotated[_Text, Field(max_length=64)] = Field(
        "", description="Tool of the schedule's agent that is called."
    )
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, description="Arguments of the tool."
    )
    workflow: Annotated[_Text, Field(max_length=64)] = Field(
        "", description="Workflow that is run instead."
    )
    input: dict[str, JsonValue] = Field(default_factory=dict, description="Input of the workflow.")
    when: Annotated[_Text, Field(max_length=MAX_CHARACTERS)] = Field(
        "",
        description=(
            "Condition on `result` and `last` under which the firing starts its run. Empty: the "
            "result is neither empty nor false."
        ),
    )
    on_error: Literal["run", "skip"] = Field(
        "run", description="Handling of a firing whose test fails: run anyway, or skip."
    )

    @model_validator(mode="after")
    def _decides(self) -> SlotTest:
        if self.tool and self.workflow:
            raise ValueError("names a tool and a workflow: keep one of them")
        if not (self.tool or self.workflow or self.when):
            raise ValueError("decides nothing: give a tool, a workflow, or a condition in `when`")
        if self.arguments and not self.tool:
            raise ValueError("has arguments without a tool: name the tool")
        if self.input and not self.workflow:
            raise ValueError("has an input without a workflow: name the workflow")
        if self.when:
            try:
                condition = compile_expression(self.when, ROOTS)
            except ExpressionError as error:
                raise ValueError(f"has a `when` that is refused: {error}".rstrip(".")) from None
            if not self.starts_run and any(path[0] == "result" for path in condition.references):
                raise ValueError("reads `result`, but names no tool and no workflow")
        return self

    @property
    def starts_run(self) -> bool:
        """True if the test is a run itself."""
        return bool(self.tool or self.workflow)

    def holds(self, *, result: Any, last: Any) -> bool:
        """Return True if the firing starts its run.

        Raises:
            EvaluationError: The condition cannot be applied to these values.
        """
        if not self.when:
            return bool(result)
        condition = compile_expression(self.when, ROOTS)
        return bool(condition.evaluate({"result": result, "last": last}))


def read_test(table: dict[str, Any]) -> SlotTest | None:
    """Return the test of a schedule's setting; None: an empty one tests nothing.

    Raises:
        ValidationError: The setting is not valid.
    """
    return SlotTest.model_validate(table) if table else None


def checked_test(table: dict[str, Any]) -> dict[str, Any]:
    """Return a valid setting without the values that are defaults.

    Raises:
        ValueError: The setting is not valid; the end of a sentence that begins with its name.
    """
    try:
        test = read_test(table)
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        problem = phrase(details)
        end = sentence_of(details["loc"], problem) if details["loc"] else problem
        raise ValueError(f"is not valid: {end}" if details["loc"] else problem) from None
    return {} if test is None else test.model_dump(mode="json", exclude_defaults=True)
