"""Tool calls that people decide: approvals, uncertain calls, dry runs."""

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
from heartbit_site.contract.operation import READ_WAITING, Noun

Resolution = Literal["retry", "confirm", "skip"]
Outcome = Literal["retried", "confirmed", "skipped"]
OfRun = Annotated[
    Word | None,
    Field(description="Filter by this run and its sub-agents: its id, or the beginning of it."),
]
Digest = Annotated[Word | None, Field(description="Digest of the call, from GET /approvals.")]
Question = Annotated[
    Word | None, Field(description="Digest of the call, from GET /uncertain-calls.")
]


def _later(moment: datetime) -> datetime:
    if moment <= datetime.now(UTC):
        raise ValueError("the permission would end in the past: choose a later time")
    return moment


State = Annotated[
    QuestionStateName,
    Field(
        description="open: it waits; expired: no one decided in time; cancelled: its run was "
        "cancelled; closed: it is obsolete; else the decision of a person."
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
    """A tool call that a person decides."""

    run_id: Id
    root_id: Id = Field(validation_alias=AliasPath("run", "root_id"))
    call_id: str
    agent: str = Field(validation_alias=AliasPath("run", "agent"))
    tool: str
    effect: str
    arguments: dict[str, JsonValue]
    summary: str = Field(
        description="Sentence about the call, from the tool's summary and the arguments: untrusted "
        "text on one line, cut, with hidden characters as escapes; empty: the tool declares none."
    )
    waiting_since: Time | None = Field(description="Time at which the call began to wait.")
    task: str = Field(
        description="Task of the run: the first 500 characters; the run has the whole task."
    )
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
    wait_key: str = Field(
        description="Key of this request; it changes when the same call waits again."
    )
    digest: str = Field(description="Digest of the call as shown, which a decision has to name.")
    expires_at: Time | None = Field(
        description="Time at which the call is refused without a decision."
    )
    required_approvals: int = Field(description="Number of people who must approve the call.")
    approved_by: list[str] = Field(description="People who have approved the call so far.")
    approver_group: str = Field(
        description="Group whose members alone may decide; empty: everyone with the right."
    )
    escalated: EscalatedOut | None = Field(
        description="Escalation to more people; null if there was none."
    )
    parameters: dict[str, JsonValue] | None = Field(
        description="JSON Schema of the tool's arguments; null if the tool has changed."
    )
    answer_schema: dict[str, JsonValue] | None = Field(
        description="JSON Schema of the answer to a question; null for other calls."
    )


class ApprovalsOut(Page):
    """Calls that wait for a decision, the oldest first."""

    calls: list[ApprovalOut]


class UncertainCallOut(PendingCallOut):
    """A tool call of unknown outcome."""

    question: str = Field(
        description="Key of this request; it changes when the same call waits again."
    )


class UncertainCallsOut(Page):
    """Calls of unknown outcome, the oldest first."""

    calls: list[UncertainCallOut]


class ResolvedOut(View):
    """A stored outcome."""

    run_id: Id
    call_id: str
    outcome: Outcome
    resolved_by: str


class DecidedOut(View):
    """A stored decision."""

    run_id: Id
    call_id: str
    verdict: Literal["approved", "edited", "answered", "denied"]
    decided_by: str
    remaining_approvals: int = Field(
        description="Number of approvals that are still required; 0 once the call is decided."
    )


class QuestionStateOut(View):
    """The state of a request to decide a call."""

    run_id: Id
    call_id: str
    state: State
    by: str = Field(description="Name of the decider or canceller; empty: not recorded.")
    at: Time | None = Field(
        description="Time of the decision; null while the call is open, or if not recorded."
    )
    reason: str = Field(description="The decider's text for the model.")
    via: str = Field(description="Surface that was used; empty: not recorded.")


class DecisionOut(View):
    """A decision about a call, or its outcome as stated by a person."""

    run_id: Id
    call_id: str
    wait_key: str = Field(description="Key of the request that the decision resolved.")
    verdict: str
    by: str = Field(validation_alias="decided_by")
    via: str = Field(description="Surface that was used.")
    at: Time
    reason: str = Field(description="The decider's text for the model.")


class DecisionsOut(Page):
    """Decisions about the calls of a run and its sub-agents, the newest first."""

    decisions: list[DecisionOut]


class AlwaysIn(Body):
    """A standing permission, created with an approval."""

    scope: Literal["run", "agent"] = Field(
        description="run: this run and its sub-agents; agent: every run of the agent."
    )
    until: Annotated[Moment, AfterValidator(_later)] | None = Field(
        None, description="End of the permission; null: the end of the run, or until it is revoked."
    )


class DecisionIn(Body):
    """A person's decision about a call, as it was shown."""

    digest: ShownDigest
    verdict: Literal["approve", "edit", "answer", "deny"]
    arguments: dict[str, JsonValue] | None = Field(
        None, description="With edit: the arguments to run."
    )
    answer: JsonValue = Field(
        None, description="With answer: a value that fits the requested schema."
    )
    reason: Text = Field("", description="With deny: the reason, for the model.")
    always: AlwaysIn | None = Field(None, description="With approve: also permit later calls.")

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
                raise ValueError(f"{name} requires the verdict {verdict}, not {self.verdict}")
        if self.verdict == "edit" and self.arguments is None:
            raise ValueError("the verdict edit needs arguments")
        if self.verdict == "answer" and "answer" not in self.model_fields_set:
            raise ValueError("the verdict answer needs an answer")
        return self


class DryRunIn(Body):
    """The call to try, as it was shown."""

    digest: ShownDigest
    arguments: dict[str, JsonValue] | None = Field(
        None, description="Arguments to try instead of the call's own; null: as shown."
    )


class OutcomeIn(Body):
    """Outcome of an uncertain call, or how to resolve it."""

    outcome: Resolution = Field(
        description="retry: repeat the call; confirm: it took effect; skip: leave it."
    )
    result: Text = Field("", description="With confirm: the result of the call, for the model.")

    @model_validator(mode="after")
    def _fits(self) -> OutcomeIn:
        if self.result and self.outcome != "confirm":
            raise ValueError(f"result requires the outcome confirm, not {self.outcome}")
        return self


NOUN = Noun("approvals", read=READ_WAITING, write=MAY_DECIDE)

LIST_APPROVALS = NOUN.get(
    "list_approvals", "/approvals", ApprovalsOut, "List pending approvals",
    command="`heartbit approve`",
)  # fmt: skip
LIST_UNCERTAIN_CALLS = NOUN.get("list_uncertain_calls", "/uncertain-calls", UncertainCallsOut)
LIST_DECISIONS = NOUN.get("list_decisions", "/runs/{run_id}/decisions", DecisionsOut)
GET_QUESTION = NOUN.get(
    "get_question", "/runs/{run_id}/calls/{call_id}/decision", QuestionStateOut,
    "Get the state of a question",
)  # fmt: skip
DECIDE = NOUN.post(
    "decide", "/runs/{run_id}/calls/{call_id}/decision", DecidedOut, "Decide a call",
    body=DecisionIn, errors=(409,),
)  # fmt: skip
RESOLVE_CALL = NOUN.post(
    "resolve_call", "/runs/{run_id}/calls/{call_id}/outcome", ResolvedOut,
    "Resolve an uncertain call", body=OutcomeIn, errors=(409,),
)  # fmt: skip
DRY_RUN = NOUN.post(
    "dry_run", "/runs/{run_id}/calls/{call_id}/dry-run", DryRunOut,
    "Run a call in a transaction that is rolled back", body=DryRunIn, errors=(409,),
)  # fmt: skip
