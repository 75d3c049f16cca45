"""Writes of a workflow: what nothing has acted on yet is written with what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions.save_agent import create_agent
from agents.models import Run, RunEvent
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent
    from tests.runtime.conftest import Studio

KINDS = ("graph.committed", "node.finished", "call.waiting", "run.succeeded")


async def written(studio: Studio, **content: Any) -> list[list[str]]:
    """The types of a run's events, by the write that they came with."""

    def make() -> None:
        create_agent(studio.workspace, WorkflowSpec.model_validate(content), by=SYSTEM)

    await orm.run_in_thread(make)
    run = await studio.run("hello", agent=content["name"])
    assert run.status == "succeeded", run.error
    return await orm.run_in_thread(lambda: _writes(run))


def _writes(run: Run) -> list[list[str]]:
    found: dict[Any, list[str]] = {}
    for event in RunEvent.objects.filter(run=run, type__in=KINDS).order_by("seq"):
        found.setdefault(event.at, []).append(event.type)
    return list(found.values())


async def test_each_step_is_written_and_the_first_commit_with_the_first(studio: Studio) -> None:
    steps = {"a": {"set": {}}, "b": {"needs": ["a"], "set": {}}, "c": {"needs": ["b"], "set": {}}}
    assert await written(studio, name="plain", steps=steps) == [
        ["graph.committed", "node.finished", "graph.committed"],
        ["node.finished", "graph.committed"],
        ["node.finished", "graph.committed", "run.succeeded"],
    ]


async def test_a_commit_that_begins_a_run_is_written_with_the_suspension(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    await orm.run_in_thread(lambda: agent("scribe"))
    task = {"agent": "scribe", "task": "[[text: {{ message }}!]]"}
    steps = {"a": task, "b": {"needs": ["a"], **task}}
    assert await written(studio, name="chain", steps=steps) == [
        ["graph.committed", "call.waiting"],
        ["node.finished", "graph.committed", "call.waiting"],
        ["node.finished", "graph.committed", "run.succeeded"],
    ]
