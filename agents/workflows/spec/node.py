"""Settings of a node: its work, its input, and the treatment of its errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from agents.definitions.setting_types import Group, Positive, Schema
from agents.workflows.spec.values import (
    Condition,
    Duration,
    Key,
    NodeName,
    OnError,
    PlainSpec,
    Template,
    TemplateTable,
    TextTemplate,
)

#: Kinds of work; each is the setting that names it.
WORK: Final = (
    *("function", "agent", "workflow", "tool", "validator"),
    *("code", "ask", "pause", "set"),
)
#: Kinds of work that wait without holding the barrier of a superstep.
WAITS: Final = ("ask", "pause")


class RetrySpec(PlainSpec):
    """Retries of a node after an error."""

    times: Annotated[int, Field(ge=0, le=20)] = Field(0, description="Retries after an error.")
    backoff_seconds: Duration = Field(
        default=0.0, description="Delay before the first retry; each further one is twice as long."
    )
    strong_when: Literal["", "repeated"] = Field(
        "", description="For 'repeated': an error that repeats starts the agent's strong model."
    )

    def delay_before(self, attempt: int) -> float:
        """Return the seconds before an attempt; the first attempt is 1, and has no delay."""
        return 0.0 if attempt < 2 else float(self.backoff_seconds * 2 ** (attempt - 2))


def _retry(given: object) -> object:
    is_number = isinstance(given, int) and not isinstance(given, bool)
    if not (is_number or isinstance(given, Mapping | RetrySpec)):
        raise ValueError("must be a number of retries, or a table with times")
    return {"times": given} if is_number else given


class NodeSpec(PlainSpec):
    """A node of a graph: one kind of work, and its settings."""

    name: NodeName
    function: Key | None = Field(None, description="Executor that the node calls.")
    agent: Key | None = Field(None, description="Agent that the node runs.")
    workflow: Key | None = Field(None, description="Workflow that the node runs.")
    tool: Key | None = Field(None, description="Tool that the node calls.")
    validator: Key | None = Field(
        None,
        description=(
            "Executor that returns the problems of the message: a list of texts. Without any, the "
            "message is passed on."
        ),
    )
    code: Annotated[str, Field(min_length=1, max_length=100_000)] | None = Field(
        None, description="Code that the node runs in the sandbox."
    )
    ask: TextTemplate | None = Field(None, description="Question that the node asks a person.")
    pause: Duration | None = Field(None, description="Time that the node waits.")
    set: TemplateTable | None = Field(None, description="Values that the node writes, by key.")
    task: Template = Field(
        None, description="Task of an agent or a workflow; null: the message, or the entry of each."
    )
    arguments: TemplateTable | None = Field(None, description="Arguments of a tool's call.")
    language: Key = Field("python", description="Language of the code.")
    form: Schema | None = Field(None, description="JSON Schema of the answer to the question.")
    group: Group = Field("", description="Django group whose members may answer.")
    timeout: Duration | None = Field(None, description="Time limit of the node.")
    on_timeout: Template = Field(
        None, description="Output when no one answers in time; null: an error."
    )
    each: Condition = Field("", description="List whose entries the node handles one by one.")
    max_parallel: Positive | None = Field(
        None, description="Maximum of entries that are handled concurrently."
    )
    when: Condition = Field("", description="Condition without which the node is skipped.")
    input: Schema | None = Field(None, description="JSON Schema of the messages that it accepts.")
    output: Schema | None = Field(None, description="JSON Schema of its output.")
    retry: Annotated[RetrySpec, BeforeValidator(_retry)] = Field(
        default_factory=RetrySpec, description="Retries after an error."
    )
    on_error: OnError = Field(
        "fail",
        description=(
            "After an error: fail, continue (with null as the output) or a node that is sent the "
            "error."
        ),
    )

    @property
    def work(self) -> str:
        """Kind of work of the node."""
        return next(kind for kind in WORK if getattr(self, kind) is not None)

    @property
    def subject(self) -> Any:
        """Function, agent, question or other value that the kind of work names."""
        return getattr(self, self.work)

    @property
    def executor(self) -> str | None:
        """Name of the executor that the node calls; None: it calls none."""
        value = self.subject if self.work in ("function", "validator") else None
        return None if value is None else str(value)

    @property
    def is_wait(self) -> bool:
        """True if the node waits without holding the barrier."""
        return self.work in WAITS

    @model_validator(mode="after")
    def _has_one_kind_of_work(self) -> Self:
        found = [kind for kind in WORK if getattr(self, kind) is not None]
        if len(found) != 1:
            named = " and ".join(found) or "none"
            raise ValueError(
                f'is the node "{self.name}", which needs one kind of work, not {named}; write '
                f"one of {', '.join(WORK)}"
            )
        return self
