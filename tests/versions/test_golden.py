"""Snapshots of every setting, as recorded: what an unchanged agent hashes to never moves.

A digest names a version for good: publishing an unchanged agent has to find it again. The rows of
``golden.json`` were recorded before the settings had one list (``agents.definitions.spec``). Add a
row for a new setting; never change one.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group

from agents import snapshot
from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding
from heartbit_site.base.toolspec import spec_of
from tools.registry import registry

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
    row = Agent.objects.create(workspace=workspace, name="golden", **columns)
    for binding in case.get("bindings", ()):
        for group in (binding.get("approvers"), binding.get("escalate_group")):
            if group:
                Group.objects.get_or_create(name=group)
        ToolBinding.objects.create(agent=row, tool="golden_echo", **binding)
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
    monkeypatch.setitem(registry._specs, "golden_echo", spec_of(golden_echo))
    version = published(workspace, case).current_version
    assert version is not None
    assert version.snapshot == case["snapshot"]
    assert version.hash == snapshot.digest(version.snapshot) == case["digest"]
