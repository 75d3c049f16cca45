"""Runs: start, list, look, wait, cancel, steer; settle those that killed their workers.

A run is what ``heartbit status RUN --json`` prints, with more: names that both have mean the same.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from agents.output.results import MetricsOut, ResultOut
from agents.runtime.files.folder_limits import LIMITS
from heartbit_site.base.view import Id, Money, Time, View
from heartbit_site.contract.model import Body, Name, Page, Priority, Reference, Targets, Text, Word
from heartbit_site.contract.operation import READ_RUNS, WRITE_RUNS, Operation

MAX_WAIT_SECONDS = 60

FileContent = Annotated[str, Field(max_length=LIMITS.file_bytes * 4 // 3 + 4)]

Status = Literal["queued", "running", "waiting", "succeeded", "failed", "cancelled", "quarantined"]


class UsageOut(View):
    """Tokens of a run's own model calls."""

    input_tokens: int
    output_tokens: int


class RunSummaryOut(View):
    """A run in a list; its answer and the whole of its input are in `GET /runs/{id}`."""

    id: Id = Field(validation_alias="pk")
    root_id: Id = Field(description="The run at the top of its tree.")
    parent_id: Id | None
    conversation_id: Id | None
    forked_from_id: Id | None = Field(description="The run with whose journal it began.")
    kind: str = Field(
        description="Kind of engine: agent, tool_call (of one tool) or extraction (of memories)."
    )
    agent: str
    placement: str = Field(validation_alias="home")
    model: str = Field(description="Empty until the first start, and if the kind has none.")
    status: Status
    task: str = Field(description="First 500 characters, the last of them … if the task is longer.")
    task_characters: int = Field(description="Length of the whole task.")
    error: dict[str, Any] | None
    usage: UsageOut
    cost_usd: Money | None = Field(
        description="US dollars of its own model calls; null: a price is unknown."
    )
    started_by: str = Field(
        description="A person, or a key; empty: not recorded, or it is a sub-agent's run."
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
    structured: JsonValue = Field(description="The answer as the agent's response schema wants it.")


class RunTreeOut(RunOut):
    """A run with its sub-agents."""

    children: list[RunTreeOut]


class RunDetailOut(RunTreeOut):
    """A run with its sub-agents and, once it has ended, its result."""

    result: ResultOut | None
    has_worker: bool = Field(description="True if a worker consumes its queue.")


class ForkOut(View):
    """A run that began with another's journal."""

    id: Id
    turn: int = Field(description="The last turn that it kept; 0: the task alone.")


class RunViewOut(RunDetailOut):
    """A run that is looked at, also with what is in its way and what came of it."""

    version: int = Field(description="The version of its agent that it is pinned to.")
    attempts: int = Field(
        validation_alias="crashes", description="Workers that died with it since its last progress."
    )
    blocked_reason: str = Field(
        description="Reason why the queued run is not claimed, as a sentence; empty: none known."
    )
    metrics: MetricsOut = Field(description="Figures until now.")
    forks: list[ForkOut] = Field(description="The newest runs that began with its journal.")


class RunPageOut(Page):
    """Runs that were asked for, the newest first; sub-agents are in their run's tree."""

    runs: list[RunSummaryOut]


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
        description="fleet: workers execute it; local: the process that resumes it does.",
    )


class RunIn(Body):
    """A task for an agent, as text, in its long form, or both."""

    task: Text = Field("", description="Task of the agent.")
    payload: dict[str, JsonValue] | None = Field(
        None, description="The long form: {action, spec, inputs, constraints}."
    )
    agent: Name = Field("", description="Agent that does the task; orchestrator if empty.")
    model: Reference = Field("", description="For this run and its sub-agents.")
    priority: Priority = 0
    conversation_id: Word | None = Field(
        None, description="Answer on this thread; its agent does it, so name no other."
    )
    require_approval: bool = Field(default=False, description="Every tool call waits for a person.")
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

    @model_validator(mode="after")
    def _thread(self) -> RunIn:
        if self.conversation_id is not None and (self.agent or self.payload or self.priority):
            raise ValueError(
                "a message on a conversation takes no agent, payload or priority: leave them out"
            )
        return self


class SteerIn(Body):
    """Something that the run should know from its next model call on."""

    text: Text


START_RUN = Operation(
    "runs.start_run", "POST /runs", RunDetailOut, "Start a run", WRITE_RUNS, body=RunIn,
    status=201, other_statuses=(200, 202), errors=(409,),
)  # fmt: skip
LIST_RUNS = Operation(
    "runs.list_runs", "GET /runs", RunPageOut, "List runs", READ_RUNS,
    module="run_reads", command="`heartbit status`",
)  # fmt: skip
SHOW_RUN = Operation(
    "runs.show_run", "GET /runs/{run_id}", RunViewOut, "Get a run", READ_RUNS, module="run_reads"
)
WAIT_FOR_RESULT = Operation(
    "runs.wait_for_result", "GET /runs/{run_id}/result", RunResultOut, "Wait for a result",
    READ_RUNS, other_statuses=(202,), module="run_reads",
)  # fmt: skip
CANCEL_RUN = Operation(
    "runs.cancel_run", "POST /runs/{run_id}/cancel", RunStateOut, "Cancel a run", WRITE_RUNS
)
STEER_RUN = Operation(
    "runs.steer_run", "POST /runs/{run_id}/steer", RunStateOut, "Steer a run",
    WRITE_RUNS, body=SteerIn, errors=(409,),
)  # fmt: skip
RETRY_RUN = Operation(
    "runs.retry_run", "POST /runs/{run_id}/retry", RunStateOut, "Retry a run",
    WRITE_RUNS, status=201, errors=(409,),
)  # fmt: skip
UNQUARANTINE_RUN = Operation(
    "runs.unquarantine_run", "POST /runs/{run_id}/unquarantine", RunStateOut,
    "Resume a quarantined run", WRITE_RUNS, errors=(409,),
)  # fmt: skip
DISCARD_RUN = Operation(
    "runs.discard_run", "POST /runs/{run_id}/discard", RunStateOut,
    "Discard a quarantined run", WRITE_RUNS, errors=(409,),
)  # fmt: skip
