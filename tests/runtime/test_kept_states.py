"""States that a slot keeps: what it has suspended is not folded again when it continues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions.save_agent import create_agent
from agents.journal.events import decode_row
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from agents.models import Agent
    from tests.runtime.conftest import Studio


async def test_a_chain_of_runs_decodes_each_event_once(
    studio: Studio, agent: Callable[..., Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    def make() -> None:
        agent("scribe")
        task = {"agent": "scribe", "task": "[[text: {{ message }}!]]"}
        steps = {
            "one": task,
            "two": {"needs": ["one"], **task},
            "three": {"needs": ["two"], **task},
        }
        content = {"name": "chain", "steps": steps}
        create_agent(studio.workspace, WorkflowSpec.model_validate(content), by=SYSTEM)

    await orm.run_in_thread(make)
    decoded: list[dict[str, Any]] = []

    def noted(row: dict[str, Any]) -> Any:
        decoded.append(row)
        return decode_row(row)

    monkeypatch.setattr("agents.runs.claims.decode_row", noted)
    run = await studio.run("hello", agent="chain")
    assert run.output == "hello!!!", run.error
    created = [row["payload"]["task"] for row in decoded if row["type"] == "run.created"]
    assert len(created) == len(set(created)) == 4
