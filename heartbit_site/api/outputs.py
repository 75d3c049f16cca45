"""What responses hold. Times are ISO 8601 in UTC, ids strings, money decimal text in US dollars."""

from __future__ import annotations

from typing import Literal

from ninja import Schema
from pydantic import Field, JsonValue

from agents.question_state import State  # noqa: TC001  pydantic evaluates the annotations
from heartbit_site.contract.model import Next  # noqa: TC001


class ProblemOut(Schema):
    """Something went wrong (RFC 9457)."""

    type: str = Field(description="A URI of the kind of problem: urn:heartbit:problem:CODE.")
    title: str = Field(description="The kind in a few words.")
    status: int = Field(description="The response's status.")
    detail: str = Field(description="One sentence for people: what was wrong, how to mend it.")
    code: str = Field(description="A word for programs, such as agent_not_found.")
    scope: str | None = Field(
        default=None, description="With forbidden: the scope that is missing, if it is one."
    )


class PieceOut(Schema):
    """A piece of a text; an escaped one stands for a character that cannot be seen."""

    text: str
    escaped: bool


class ShownArgumentOut(Schema):
    """One argument; a value that is no text is JSON."""

    name: list[PieceOut]
    kind: str
    value: list[PieceOut]


class HostOut(Schema):
    """Where an address among the arguments leads, as the network spells it (punycode)."""

    argument: str
    host: str


class AskedViewOut(Schema):
    """A call as a person should see it, with nothing hidden."""

    tool: list[PieceOut]
    asked_as: list[PieceOut] = Field(description="What the model called it, if that differs.")
    reason: list[PieceOut]
    effect: str
    arguments: list[ShownArgumentOut]
    hosts: list[HostOut]
    hidden: int = Field(description="How many characters of the arguments are shown as escapes.")
    editable: str = Field(description="The arguments as JSON that means exactly what is shown.")
    exact: bool = Field(description="Whether JavaScript's numbers can hold its numbers.")


class AskedCallOut(Schema):
    """A tool call that a person is asked about."""

    run: str
    root: str
    call: str
    agent: str
    tool: str
    effect: str
    arguments: dict[str, JsonValue]
    since: str | None = Field(description="When it began to wait.")
    task: str = Field(description="Of its run: the first 500 characters; the run has all.")
    task_characters: int = Field(description="Length of the whole task.")
    home: str
    queue: str
    view: AskedViewOut


class EscalatedOut(Schema):
    """That nobody had decided about a call in time."""

    group: str = Field(description="Its members may decide as well; empty: whoever may at all.")
    since: str


class ApprovalOut(AskedCallOut):
    """A tool call that waits for a person."""

    reason: str
    digest: str = Field(description="A decision names it: what runs is what was shown.")
    expires_at: str | None = Field(description="When it is refused unless somebody decides.")
    needed: int = Field(description="How many people have to approve it.")
    approved_by: list[str] = Field(description="Who has, so far.")
    group: str = Field(description="Only its members may decide; empty: whoever may at all.")
    escalated: EscalatedOut | None = Field(description="More people may decide by now; null: no.")
    parameters: dict[str, JsonValue] | None = Field(
        description="The JSON Schema of the tool's arguments; null: the tool has changed."
    )
    form: dict[str, JsonValue] | None = Field(
        description="It is a question: the JSON Schema of its answer; null: it is none."
    )


class ApprovalsOut(Schema):
    """What waits, the oldest first."""

    calls: list[ApprovalOut]
    next: Next


class DoubtOut(AskedCallOut):
    """A tool call of unknown outcome."""

    question: str = Field(description="Another one when the call is asked about again.")


class DoubtsOut(Schema):
    """What is in doubt, the oldest first."""

    calls: list[DoubtOut]
    next: Next


class SettledOut(Schema):
    """An outcome that was taken in."""

    run: str
    call: str
    outcome: Literal["retried", "done", "skipped"]
    settled_by: str


class DecidedOut(Schema):
    """A decision that was taken."""

    run: str
    call: str
    verdict: Literal["approved", "edited", "answered", "denied"]
    decided_by: str
    missing: int = Field(description="How many people more have to approve it; 0: it is decided.")


class QuestionStateOut(Schema):
    """The state of a question that a person was asked about a call."""

    run: str
    call: str
    state: State = Field(
        description=(
            "open: it waits; expired: nobody decided in time; cancelled: its run was; closed: it "
            "is not asked any more; else what a person decided."
        )
    )
    by: str = Field(description="Who decided or cancelled; empty: nobody is named.")
    at: str | None = Field(description="When; null: it is open, or not known.")
    reason: str = Field(description="What the decider wrote for the model.")
