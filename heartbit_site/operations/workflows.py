"""Workflows: definition, activity, statistics and faults."""

from __future__ import annotations

from collections.abc import Mapping

from agents.actions import move_runs as moving
from agents.actions import save_agent as saving
from agents.actions.check_agent import find_complaints
from agents.definitions import validation_messages
from agents.definitions.validation_messages import InvalidSettingError, sentence_of
from agents.querysets import find_run
from agents.reads.agent_status import AgentOverview
from agents.reads.agents import find_editable, find_version
from agents.reads.views import WorkflowFiguresOut
from agents.reads.workflow_statistics import read_statistics
from agents.workflows.spec.graph import read_graph
from agents.workflows.spec.node import NodeSpec
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, starter_of
from heartbit_site.base.models import Workspace
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.contract.operation import Answered
from heartbit_site.contract.workflows import (
    FaultOut,
    FaultsOut,
    MoveIn,
    MoveOut,
    MovesOut,
    NamedFiguresOut,
    NodeOut,
    StatisticsOut,
    WorkflowChangeIn,
    WorkflowDetailOut,
    WorkflowIn,
    WorkflowOut,
    WorkflowsOut,
)
from heartbit_site.operations.agents import find_published, list_published, settings_of

KIND = "workflow"


def list_workflows(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> WorkflowsOut:
    """Return the workspace's published workflows by name."""
    found, following = list_published(access.workspace, cursor, limit, KIND)
    return WorkflowsOut(workflows=[WorkflowOut.of(one) for one in found], next_cursor=following)


def create_workflow(
    access: Access, body: WorkflowIn, idempotency_key: Word | None = None
) -> Answered[WorkflowDetailOut]:
    """Create and publish a workflow. 200 instead of 201 if the idempotency key was used before."""
    written = saving.create_agent(
        access.workspace, body, by=actor_of(access), key=idempotency_key or None
    )
    shown = show_workflow(access, written.row.name)
    return Answered(201 if written.is_new else 200, shown)


def show_workflow(access: Access, workflow: Name) -> WorkflowDetailOut:
    """Return a workflow with its settings, its nodes and its statistics of the last 30 days."""
    found = _find(access.workspace, workflow)
    version = found.agent.current_version
    nodes = read_graph(version.snapshot).nodes if version is not None else ()
    return WorkflowDetailOut.of(
        found,
        definition=settings_of(found.agent),
        nodes=[_node(node) for node in nodes],
        statistics=read_statistics(access.workspace).of(found.agent.name),
    )


def change_workflow(access: Access, workflow: Name, body: WorkflowChangeIn) -> WorkflowDetailOut:
    """Change the given settings and publish the workflow: new runs use them.

    `version` is the version that you have read: 409 if it is no longer the current one.
    """
    found = _find(access.workspace, workflow)
    given = body.model_dump(mode="json", include=body.model_fields_set - {"version"})
    stored = settings_of(found.agent)
    if "nodes" in given:  # they name their agents, and are built from another pattern or none
        stored = {name: value for name, value in stored.items() if name not in ("team", "pattern")}
    table = {**stored, **given}
    for path, message in validation_messages.check(WorkflowSpec, table, ()):
        raise InvalidSettingError(path, message)
    read = found.agent.current_version
    saving.change_agent(
        access.workspace,
        found.agent.name,
        WorkflowSpec.model_validate(table),
        WorkflowSpec.model_fields,
        by=actor_of(access),
        version=body.version or (read.number if read is not None else None),
    )
    return show_workflow(access, workflow)


def check_workflow(access: Access, workflow: Name) -> FaultsOut:
    """Return all faults of the workflow's saved settings, which may not be published yet."""
    agent = find_editable(access.workspace, workflow)
    if agent.kind != KIND:
        _find(access.workspace, workflow)  # raises
    faults = [
        FaultOut(place=sentence_of(path, "")[:-2], message=sentence_of(path, message))
        for path, message in find_complaints(agent)
    ]
    return FaultsOut(workflow=agent.name, faults=faults)


def show_statistics(access: Access) -> StatisticsOut:
    """Return runs, successes, median duration and cost by workflow and by pattern."""
    found = read_statistics(access.workspace)
    return StatisticsOut(workflows=_named(found.workflows), patterns=_named(found.patterns))


def move_runs(access: Access, workflow: Name, body: MoveIn) -> MovesOut:
    """Move live runs to another version: each is forked as it waits, and cancelled.

    A run that does not fit stays as it is, and says why; so do all with `dry_run`.
    """
    agent = _find(access.workspace, workflow).agent
    version = find_version(agent, body.version) if body.version else agent.current_version
    assert version is not None  # noqa: S101  found as published
    named = [find_run(access, run_id).pk for run_id in body.run_ids]
    run_ids = named or moving.find_movable(agent, version)
    moves = moving.move_runs(run_ids, version, by=starter_of(access), dry_run=body.dry_run)
    runs = [
        MoveOut(
            run_id=str(one.run.pk),
            version=one.run.version.number,
            moved_to_id=one.moved_to and str(one.moved_to),
            obstacles=one.obstacles,
        )
        for one in moves
    ]
    return MovesOut(workflow=agent.name, version=version.number, runs=runs)


def _named(figures: Mapping[str, WorkflowFiguresOut]) -> list[NamedFiguresOut]:
    return [NamedFiguresOut(name=name, figures=one) for name, one in figures.items()]


def _find(workspace: Workspace, name: str) -> AgentOverview:
    return find_published(workspace, name, KIND)


def _node(node: NodeSpec) -> NodeOut:
    is_named = node.work not in ("code", "ask", "pause", "set")
    return NodeOut(name=node.name, work=node.work, subject=str(node.subject) if is_named else "")
