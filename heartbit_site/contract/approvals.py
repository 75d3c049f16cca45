"""Tool calls that people are asked about: approvals, calls of unknown outcome, dry runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasPath, Field, JsonValue, model_validator

from agents.approvals.call_view import CallDisplayOut
from agents.dry_runs.changes_view import DryRunOut
from heartbit_site.base.question_states import QuestionStateName
from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Body, Moment, Page, Text, Word
from heartbit_site.contract.operation import DECIDE as MAY_DECIDE
from heartbit_site.contract.operation import READ_WAITING, Operation

Resolution = Literal["retry", "confirm", "skip"]
Outcome = Literal["retried", "confirmed", "skipped"]
OfRun = Annotated[
    Word | None,
    Field(description="Only of this run and its sub-agents: its id, or how it begins."),
]
Digest = Annotated[Word | None, Field(description="Digest of the call, from GET /approvals.")]
Question = Annotated[
    Word | None, Field(description="Digest of the call, from GET /uncertain-calls.")
]


def _later(moment: datetime) -> datetime:
    if moment <= datetime.now(UTC):
        raise ValueError("the end of the permission is over: choose a later time")
    return moment


State = Annotated[
    QuestionStateName,
    Field(
        description="open: it waits; expired: no decision came in time; cancelled: its run was; "
        "closed: it is not asked any more; else what a person decided."
    ),
]
ShownDigest = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{64}$",
        description="Digest of the call that was shown, from GET /approvals.",
    ),
]


class PendingCallOut(View):
    """A tool call that a person is asked about."""

    run_id: Id
    root_id: Id = Field(validation_alias=AliasPath("run", "root_id"))
    call_id: str
    agent: str = Field(validation_alias=AliasPath("run", "agent"))
    tool: str
    effect: str
    arguments: dict[str, JsonValue]
    waiting_since: Time | None = Field(description="Time at which the call began to wait.")
    task: str = Field(description="Task of the run: the first 500 characters; the run has all.")
    task_characters: int = Field(description="Length of the whole task.")
    placement: str = Field(validation_alias=AliasPath("run", "home"))
    queue: str = Field(validation_alias=AliasPath("run", "queue"))
    view: CallDisplayOut


class EscalatedOut(View):
    """Escalation of a call that no one decided in time."""

    group: str = Field(
        description="Group whose members may decide as well; empty: everyone with the right."
    )
    since: Time


class ApprovalOut(PendingCallOut):
    """A tool call that waits for a person."""

    reason: str
    wait_key: str = Field(description="Another one when the call is asked about again.")
    digest: str = Field(description="A decision names it: what runs is what was shown.")
    expires_at: Time | None = Field(
        description="Time at which the call is refused without a decision."
    )
    required_approvals: int = Field(description="Number of people who must approve the call.")
    approved_by: list[str] = Field(description="People who have approved the call so far.")
    approver_group: str = Field(
        description="Group whose members alone may decide; empty: everyone with the right."
    )
    escalated: EscalatedOut | None = Field(description="More people may decide by now; null: no.")
    parameters: dict[str, JsonValue] | None = Field(
        description="The JSON Schema of the tool's arguments; null: the tool has changed."
    )
    answer_schema: dict[str, JsonValue] | None = Field(
        description="JSON Schema of the answer to a question; null: the call is none."
    )


class ApprovalsOut(Page):
    """Calls that wait for a decision, the oldest first."""

    calls: list[ApprovalOut]


class UncertainCallOut(PendingCallOut):
    """A tool call of unknown outcome."""

    question: str = Field(description="Another one when the call is asked about again.")


class UncertainCallsOut(Page):
    """Calls of unknown outcome, the oldest first."""

    calls: list[UncertainCallOut]


class ResolvedOut(View):
    """An outcome that was taken in."""

    run_id: Id
    call_id: str
    outcome: Outcome
    resolved_by: str


class DecidedOut(View):
    """A decision that was taken."""

    run_id: Id
    call_id: str
    verdict: Literal["approved", "edited", "answered", "denied"]
    decided_by: str
    remaining_approvals: int = Field(
        description="Number of people who still must approve; 0: the call is decided."
    )


class QuestionStateOut(View):
    """The state of a question that a person was asked about a call."""

    run_id: Id
    call_id: str
    state: State
    by: str = Field(description="Name of the decider or canceller; empty: not recorded.")
    at: Time | None = Field(
        description="Time of the decision; null: the call is open, or not recorded."
    )
    reason: str = Field(description="The decider's text for the model.")
    via: str = Field(description="Surface that was used; empty: not recorded.")


class DecisionOut(View):
    """A decision about a call, or an outcome that a person gave."""

    run_id: Id
    call_id: str
    wait_key: str = Field(description="Key of the question that the decision ended.")
    verdict: str
    by: str = Field(validation_alias="decided_by")
    via: str = Field(description="By which way.")
    at: Time
    reason: str = Field(description="The decider's text for the model.")


class DecisionsOut(Page):
    """Decisions about the calls of a run and its sub-agents, the newest first."""

    decisions: list[DecisionOut]


class AlwaysIn(Body):
    """A standing permission that goes with an approval."""

    scope: Literal["run", "agent"] = Field(
        description="run: this run and its sub-agents; agent: every run of the agent."
    )
    until: Annotated[Moment, AfterValidator(_later)] | None = Field(
        None, description="End of the permission; null: with the run, or when it is revoked."
    )


class DecisionIn(Body):
    """A person's decision about a call, as it was shown."""

    digest: ShownDigest
    verdict: Literal["approve", "edit", "answer", "deny"]
    arguments: dict[str, JsonValue] | None = Field(None, description="With edit: what runs.")
    answer: JsonValue = Field(None, description="With answer: fits the form that is asked for.")
    reason: Text = Field("", description="With deny: the model reads it.")
    always: AlwaysIn | None = Field(None, description="With approve: also from now on.")

    @model_validator(mode="after")
    def _fits(self) -> DecisionIn:
        given: dict[str, Any] = {
            "arguments": ("edit", self.arguments is not None),
            "answer": ("answer", "answer" in self.model_fields_set),
            "reason": ("deny", bool(self.reason)),
            "always": ("approve", self.always is not None),
        }
        for name, (verdict, is_given) in given.items():
            if is_given and self.verdict != verdict:
                raise ValueError(f"{name} goes with the verdict {verdict}, not {self.verdict}")
        if self.verdict == "edit" and self.arguments is None:
            raise ValueError("the verdict edit needs arguments")
        if self.verdict == "answer" and "answer" not in self.model_fields_set:
            raise ValueError("the verdict answer needs an answer")
        return self


class DryRunIn(Body):
    """The call to try, as it was shown."""

    digest: ShownDigest
    arguments: dict[str, JsonValue] | None = Field(
        None, description="To try it with instead of its own; null: as it was shown."
    )


class OutcomeIn(Body):
    """Outcome of an uncertain call, or how to resolve it."""

    outcome: Resolution = Field(
        description="retry: it is made again; confirm: it took effect; skip: it is left."
    )
    result: Text = Field("", description="With confirm: the model reads it as the call's answer.")

    @model_validator(mode="after")
    def _fits(self) -> OutcomeIn:
        if self.result and self.outcome != "confirm":
            raise ValueError(f"result goes with the outcome confirm, not {self.outcome}")
        return self


LIST_APPROVALS = Operation(
    "approvals.list_approvals", "GET /approvals", ApprovalsOut, "List pending approvals",
    READ_WAITING, command="`heartbit approve`",
)  # fmt: skip
LIST_UNCERTAIN_CALLS = Operation(
    "approvals.list_uncertain_calls", "GET /uncertain-calls", UncertainCallsOut,
    "List uncertain calls", READ_WAITING,
)  # fmt: skip
LIST_DECISIONS = Operation(
    "approvals.list_decisions", "GET /runs/{run_id}/decisions", DecisionsOut, "List decisions",
    READ_WAITING,
)  # fmt: skip
GET_QUESTION = Operation(
    "approvals.get_question", "GET /runs/{run_id}/calls/{call_id}/decision", QuestionStateOut,
    "Get the state of a question", READ_WAITING,
)  # fmt: skip
DECIDE = Operation(
    "approvals.decide", "POST /runs/{run_id}/calls/{call_id}/decision", DecidedOut, "Decide a call",
    MAY_DECIDE, body=DecisionIn, errors=(409,),
)  # fmt: skip
RESOLVE_CALL = Operation(
    "approvals.resolve_call", "POST /runs/{run_id}/calls/{call_id}/outcome", ResolvedOut,
    "Resolve an uncertain call", MAY_DECIDE, body=OutcomeIn, errors=(409,),
)  # fmt: skip
DRY_RUN = Operation(
    "approvals.dry_run", "POST /runs/{run_id}/calls/{call_id}/dry-run", DryRunOut,
    "Run a call in a transaction that is rolled back", MAY_DECIDE, body=DryRunIn, errors=(409,),
)  # fmt: skip
