"""Snapshots of every setting, as recorded: what an unchanged agent hashes to never moves.

A digest names a version for good: publishing an unchanged agent has to find it again. The rows of
``golden.json`` were recorded before the settings had one list (``agents.definitions.spec``). Add a
row for a new setting; never change one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.publish_agent import publish_agent
from agents.actions.skills import save_skill
from agents.definitions import snapshot
from agents.definitions.snapshot import pins_of
from agents.definitions.spec import CODE_TOOL, AgentSettings, ToolGrant
from agents.models import Agent, ToolBinding
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.toolspec import spec_of
from tests.skills.folders import skill_folder
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

GOLDEN: list[dict[str, Any]] = json.loads(Path(__file__).with_name("golden.json").read_text())

pytestmark = pytest.mark.django_db


def golden_echo(text: str, times: int = 1) -> str:
    """Say it again.

    Args:
        text: What to say.
        times: How often.
    """
    return text * times


def published(workspace: Workspace, case: dict[str, Any]) -> Agent:
    columns = dict(case["columns"])
    if "max_run_cost_usd" in columns:
        columns["max_run_cost_usd"] = Decimal(columns["max_run_cost_usd"])
    for name in columns.get("skills", ()):
        save_skill(workspace, skill_folder(name, "Does it.", file=b"1"), by=SYSTEM)
    row = Agent.objects.create(workspace=workspace, name="golden", **columns)
    for binding in case.get("bindings", ()):
        ToolBinding.objects.create(agent=row, tool=case.get("tool", "golden_echo"), **binding)
    for name in case.get("team", ()):
        row.team.add(
            Agent.objects.create(
                workspace=workspace, name=name, description=f"Does {name}.", system_prompt="p"
            )
        )
    publish_agent(row)
    return row


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_a_recorded_setting_gives_the_recorded_snapshot(
    workspace: Workspace, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("golden_echo", CODE_TOOL):  # the definitions of neither ever change
        monkeypatch.setitem(registry, name, replace(spec_of(golden_echo), name=name))
    version = published(workspace, case).current_version
    assert version is not None
    assert version.snapshot == case["snapshot"]
    assert version.hash == snapshot.digest(version.snapshot) == case["digest"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_a_recorded_snapshot_is_read_as_the_settings_that_it_was_made_from(
    case: dict[str, Any],
) -> None:
    definition = snapshot.read(1, 1, "golden", case["snapshot"])
    for name, value in case["columns"].items():
        if name == "skills":
            assert [skill.name for skill in definition.pinned_skills] == value
        if name in pins_of(AgentSettings):
            expected = Decimal(value) if name == "max_run_cost_usd" else value
            assert getattr(definition, name) == expected
    for tool, binding in zip(definition.tools, case.get("bindings", ()), strict=False):
        assert all(getattr(tool, name) == value for name, value in binding.items())
    assert snapshot.unknown_settings(case["snapshot"], AgentSettings) == []


def test_the_default_of_a_setting_that_came_late_never_changes() -> None:
    """Snapshots that left it out would come to mean something else."""
    late = {
        (model, name): model.default_of(name)
        for model, pins in ((model, pins_of(model)) for model in (AgentSettings, ToolGrant))
        for name, pin in pins.items()
        if pin.late
    }
    assert late == {
        (AgentSettings, "strong_model"): "",
        (AgentSettings, "max_run_tokens"): None,
        (AgentSettings, "max_wall_seconds"): None,
        (AgentSettings, "max_run_cost_usd"): None,
        (AgentSettings, "approval_timeout_seconds"): None,
        (AgentSettings, "uncertain_calls"): "ask_human",
        (AgentSettings, "mixed_data"): "ask",
        (AgentSettings, "execution_mode"): "never",
        (AgentSettings, "code_mode"): False,
        (AgentSettings, "memory"): False,
        (AgentSettings, "memory_weights"): {},
        (AgentSettings, "memory_tokens"): 0,
        (AgentSettings, "extract_memories"): False,
        (AgentSettings, "extraction_model"): "",
        (ToolGrant, "approval_timeout_seconds"): None,
        (ToolGrant, "required_approvals"): 1,
        (ToolGrant, "approver_group"): "",
        (ToolGrant, "escalate_after_minutes"): None,
        (ToolGrant, "escalation_group"): "",
        (ToolGrant, "credentials"): {},
        (ToolGrant, "requires"): "",
        (ToolGrant, "timeout_seconds"): None,
        (ToolGrant, "knowledge_bases"): [],
    }
