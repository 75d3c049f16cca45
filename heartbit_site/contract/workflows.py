"""Workflows: definition, activity, statistics and faults; start of their runs by name.

A workflow is an agent to everyone else: the operations of agents' versions, statuses, starts and
stops, and those of runs, take its name.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from agents.reads.views import WorkflowFiguresOut
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.view import Id, View
from heartbit_site.contract.agents import DefinitionOut, Settings
from heartbit_site.contract.model import Body, Page, Word, changes
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, WRITE_RUNS, Noun

Number = Annotated[int, Field(ge=1, le=2**31 - 1)]


class NodeOut(View):
    """A node of a workflow."""

    name: str
    work: str = Field(description="Kind of its work, such as agent, tool or ask.")
    subject: str = Field(description="Agent, tool, function or workflow that it names; else empty.")


class WorkflowOut(DefinitionOut):
    """A workflow and its activity."""


class WorkflowDetailOut(WorkflowOut):
    """A workflow with its editable settings, its nodes and its statistics."""

    definition: Settings
    nodes: list[NodeOut] = Field(description="Nodes of the current version, in order.")
    statistics: WorkflowFiguresOut


class WorkflowsOut(Page):
    """The workspace's published workflows."""

    workflows: list[WorkflowOut]


class WorkflowIn(WorkflowSpec):
    """A workflow, with the keys of a `[[workflows]]` table: `steps`, or `nodes` and `edges`."""


@changes(null=False)
class WorkflowChangeIn(WorkflowIn):
    """Settings of a workflow to change; omitted settings are unchanged.

    `nodes`, `edges` and every other setting are replaced as a whole.
    """

    name: str = Field("", description="Must be the workflow's name: it cannot be changed.")
    version: Number | None = Field(
        None,
        description="The version that you have read: 409 if it is no longer the current one.",
    )

    @model_validator(mode="after")
    def _bind_what_it_uses(self) -> Self:
        return self  # the whole settings do


class FaultOut(View):
    """A fault of a workflow's settings."""

    place: str = Field(description="Setting, such as nodes[1].agent.")
    message: str = Field(description="Sentence that begins with the setting.")


class FaultsOut(View):
    """All faults of a workflow's saved settings."""

    workflow: str
    faults: list[FaultOut] = Field(description="Empty: it can be published.")


class NamedFiguresOut(View):
    """Figures of a workflow or of a pattern."""

    name: str
    figures: WorkflowFiguresOut


class StatisticsOut(View):
    """Statistics of the runs of workflows that began in the last 30 days."""

    workflows: list[NamedFiguresOut]
    patterns: list[NamedFiguresOut] = Field(description="Patterns that workflows were built from.")


class MoveIn(Body):
    """Runs to move to another version of their workflow."""

    version: Number | None = Field(None, description="Version to move to; null: the current one.")
    run_ids: list[Word] = Field(
        default_factory=list,
        max_length=1000,
        description="Runs to move; empty: all live runs on other versions.",
    )
    dry_run: bool = Field(default=False, description="Nothing is moved.")


class MoveOut(View):
    """A run that was to be moved."""

    run_id: Id
    version: int = Field(description="Version that it began with.")
    moved_to_id: Id | None = Field(description="Run that continues it; null: it was not moved.")
    obstacles: list[str] = Field(
        description="Sentences on why it cannot be moved; empty: it can, or it was."
    )


class MovesOut(View):
    """Runs that were to be moved."""

    workflow: str
    version: int
    runs: list[MoveOut]


NOUN = Noun("workflows", read=READ_AGENTS, write=WRITE_AGENTS)

LIST_WORKFLOWS = NOUN.get(
    "list_workflows", "/workflows", WorkflowsOut, command="`heartbit workflows list`"
)
CREATE_WORKFLOW = NOUN.post(
    "create_workflow", "/workflows", WorkflowDetailOut, body=WorkflowIn, status=201,
    other_statuses=(200,), errors=(409,),
)  # fmt: skip
SHOW_WORKFLOW = NOUN.get(
    "show_workflow", "/workflows/{workflow}", WorkflowDetailOut,
    command="`heartbit workflows show {workflow}`",
)  # fmt: skip
CHANGE_WORKFLOW = NOUN.patch(
    "change_workflow",
    "/workflows/{workflow}",
    WorkflowDetailOut,
    body=WorkflowChangeIn,
    errors=(409,),
)
CHECK_WORKFLOW = NOUN.get("check_workflow", "/workflows/{workflow}/faults", FaultsOut)
SHOW_STATISTICS = NOUN.get(
    "show_statistics", "/workflow-statistics", StatisticsOut, "Get statistics of workflows"
)
MOVE_RUNS = NOUN.post(
    "move_runs", "/workflows/{workflow}/move", MovesOut, "Move runs to another version",
    body=MoveIn, needs=WRITE_RUNS,
)  # fmt: skip
