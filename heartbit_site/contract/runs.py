"""Runs: start, list, get, wait, cancel, steer; resolve quarantined runs.

``heartbit status RUN --json`` prints a subset of the same fields.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from agents.definitions.setting_types import Reviewers
from agents.output.results import MetricsOut, ResultOut
from agents.runtime.files.folder_limits import LIMITS
from heartbit_site.base.view import Id, Money, Time, View
from heartbit_site.contract.model import (
    Body,
    Documents,
    Images,
    Name,
    Page,
    Priority,
    Reference,
    Targets,
    Text,
    Word,
)
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Noun

MAX_WAIT_SECONDS = 60

FileContent = Annotated[str, Field(max_length=LIMITS.file_bytes * 4 // 3 + 4)]

#: Orders of the list; a minus is the highest first. Duration counts from the acceptance.
Sort = Literal[
    "-started", "started", "-duration", "duration", "-cost", "cost", "-tokens", "tokens"
]  # fmt: skip
Status = Literal["queued", "running", "waiting", "succeeded", "failed", "cancelled", "quarantined"]


class UsageOut(View):
    """Tokens of a run's own model calls."""

    input_tokens: int
    output_tokens: int


class RunSummaryOut(View):
    """A run in a list; `GET /runs/{id}` returns its answer and its whole input."""

    id: Id = Field(validation_alias="pk")
    root_id: Id = Field(description="Root run of the tree.")
    parent_id: Id | None
    conversation_id: Id | None
    forked_from_id: Id | None = Field(description="Run that it was forked from.")
    kind: str = Field(
        description="Kind of engine: agent, tool_call (of one tool) or extraction (of memories)."
    )
    agent: str
    placement: str = Field(validation_alias="home")
    model: str = Field(
        description="Model; empty until the first claim, and for kinds of run without one."
    )
    status: Status
    task: str = Field(description="The task; a longer one is cut to 500 characters, ending with ….")
    task_characters: int = Field(description="Length of the whole task.")
    error: dict[str, Any] | None
    usage: UsageOut
    cost_usd: Money | None = Field(
        description="US dollars of its own model calls; null if a price is unknown."
    )
    started_by: str = Field(
        description="Person or key that started it; empty if not recorded, or for a sub-agent's "
        "run."
    )
    require_approval: bool = Field(validation_alias="approve")
    priority: int
    queue: str
    last_seq: int = Field(description="Sequence number of the last event.")
    created_at: Time
    started_at: Time | None
    finished_at: Time | None


class RunOut(RunSummaryOut):
    """A run."""

    task: str
    payload: dict[str, JsonValue] | None
    output: str | None
    structured: JsonValue = Field(
        description="The answer in the form of the agent's response schema."
    )


class RunTreeOut(RunOut):
    """A run with its sub-agents."""

    children: list[RunTreeOut]


class RunDetailOut(RunTreeOut):
    """A run with its sub-agents and, once it has ended, its result."""

    result: ResultOut | None
    has_worker: bool = Field(description="True if a worker consumes its queue.")


class ForkOut(View):
    """A fork of a run."""

    id: Id
    turn: int = Field(description="The last turn that it kept; 0: only the task.")


class RunViewOut(RunDetailOut):
    """A run with all details, including why it is blocked, and its forks."""

    version: int = Field(description="Pinned version of its agent.")
    attempts: int = Field(
        validation_alias="crashes", description="Worker crashes since its last progress."
    )
    blocked_reason: str = Field(
        description="Reason why the queued run is not claimed, as a sentence; empty: none known."
    )
    metrics: MetricsOut = Field(description="Current figures.")
    forks: list[ForkOut] = Field(description="The newest forks of the run.")


class RunRowOut(RunSummaryOut):
    """A run in a list of runs."""

    test: bool = Field(description="True if it tests the draft of its agent.")


class RunPageOut(Page):
    """Runs, the newest first; those of sub-agents are in their root run's tree."""

    runs: list[RunRowOut]


class RunResultOut(View):
    """End of a run; ``result`` is null until then."""

    id: Id = Field(validation_alias="pk")
    status: Status
    result: ResultOut | None


class RunStateOut(View):
    """State of a run."""

    id: Id = Field(validation_alias="pk")
    status: Status
    placement: str = Field(
        validation_alias="home",
        description=(
            "fleet: workers execute it; local: one process, or one that resumes it; restored: no "
            "one, until a person releases it."
        ),
    )


class RunIn(Body):
    """A task for an agent, as text, in its structured form, or both."""

    task: Text = Field("", description="Task of the agent.")
    payload: dict[str, JsonValue] | None = Field(
        None, description="Structured form of the task: {action, spec, inputs, constraints}."
    )
    agent: Name = Field("", description="Agent that does the task; empty: the orchestrator.")
    model: Reference = Field("", description="For this run and its sub-agents.")
    priority: Priority = 0
    conversation_id: Word | None = Field(
        None, description="Conversation to answer on, by its agent: name no other."
    )
    require_approval: bool = Field(default=False, description="Every tool call waits for a person.")
    review: Reviewers = Field(
        "",
        description="People who see the result before it is delivered, unless the agent names its "
        "own: anyone (who may decide), group:NAME or person:USERNAME. Empty: no one.",
    )
    deliver: Targets = Field(default_factory=list)
    files: dict[Word, FileContent] = Field(
        default_factory=dict,
        max_length=LIMITS.files,
        description="Files for the run's folder: content in base64, by path.",
    )
    archive: Annotated[str, Field(max_length=LIMITS.archive_bytes * 4 // 3 + 4)] = Field(
        "",
        description="A zip, tar or tar.gz archive in base64, which is unpacked into the folder.",
    )

    images: Images = Field(default_factory=list)
    documents: Documents = Field(default_factory=dict)

    @model_validator(mode="after")
    def _thread(self) -> RunIn:
        if self.conversation_id is not None and (self.agent or self.payload or self.priority):
            raise ValueError(
                "a message on a conversation takes no agent, payload or priority: leave them out"
            )
        return self


class SteerIn(Body):
    """A text for the run, which its next model call reads."""

    text: Text


NOUN = Noun("runs", read=READ_RUNS, write=WRITE_RUNS)

START_RUN = NOUN.post(
    "start_run", "/runs", RunDetailOut, body=RunIn, status=201, other_statuses=(200, 202),
    errors=(409,),
)  # fmt: skip
LIST_RUNS = NOUN.get(
    "list_runs", "/runs", RunPageOut, module="run_reads", command="`heartbit status`"
)
SHOW_RUN = NOUN.get("show_run", "/runs/{run_id}", RunViewOut, module="run_reads")
WAIT_FOR_RESULT = NOUN.get(
    "wait_for_result", "/runs/{run_id}/result", RunResultOut, "Wait for a result",
    other_statuses=(202,), module="run_reads",
)  # fmt: skip
CANCEL_RUN = NOUN.post("cancel_run", "/runs/{run_id}/cancel", RunStateOut)
STEER_RUN = NOUN.post("steer_run", "/runs/{run_id}/steer", RunStateOut, body=SteerIn, errors=(409,))
RETRY_RUN = NOUN.post("retry_run", "/runs/{run_id}/retry", RunStateOut, status=201, errors=(409,))
UNQUARANTINE_RUN = NOUN.post(
    "unquarantine_run", "/runs/{run_id}/unquarantine", RunStateOut, "Resume a quarantined run",
    errors=(409,),
)  # fmt: skip
DISCARD_RUN = NOUN.post(
    "discard_run", "/runs/{run_id}/discard", RunStateOut, "Discard a quarantined run", errors=(409,)
)
RELEASE_RUN = NOUN.post(
    "release_run", "/runs/{run_id}/release", RunStateOut, "Release a run held since a restore",
    errors=(409,), command="`heartbit runs release {run_id}`",
)  # fmt: skip
