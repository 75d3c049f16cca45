"""The workflows of a skill's ``workflows.json`` as step workflows of the workspace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.skill_workflows import read_workflows
from agents.actions.skills import save_skill
from agents.models import Agent
from agents.skills.folder import read_folder
from agents.skills.spec import InvalidSkillError
from heartbit_site.base.audit import SYSTEM

if TYPE_CHECKING:
    from agents.skills.folder import SkillFolder
    from heartbit_site.base.models import Workspace

ARRIVAL: dict[str, Any] = {
    "name": "Arrival",
    "description": "Somebody comes.",
    "steps": [
        {"id": "count", "tool": "calculate", "inputs": {"expression": "6 * 7"}},
        {
            "id": "Greet them",
            "agent": "writer",
            "action": "Greet them.",
            "inputs": {"guest": "{{ input }}", "seats": "{{ steps.count.output }}"},
            "depends_on": ["count"],
        },
        {"id": "file", "agent": "writer", "action": "File it.", "depends_on": "Greet them"},
    ],
}


def skill(workflows: object, **settings: object) -> SkillFolder:
    main = {"name": "greeting", "description": "Greets.", **settings}
    files = {"skill.json": json.dumps(main), "system-prompt.md": "Say hello."}
    files["workflows.json"] = json.dumps(workflows)
    return read_folder({name: text.encode() for name, text in files.items()})


def test_its_steps_are_those_of_a_step_workflow() -> None:
    prose = {"name": "leave", "steps": ["Say goodbye."]}
    [found] = read_workflows(skill([ARRIVAL, prose]))
    assert (found.name, found.description) == ("greeting-arrival", "Somebody comes.")
    nodes = {node.name: node for node in found.nodes}
    assert nodes["count"].arguments == {"expression": "6 * 7"}
    task = "Greet them.\n\nguest: {{ input }}\n\nseats: {{ steps.count.output }}"
    assert nodes["greet_them"].task == task
    assert nodes["file"].task == "File it.\n\n{{ steps.greet_them.output }}"
    assert found.start == ["count"]
    assert read_workflows(skill({"workflows": {"arrival": ARRIVAL}}))[0] == found


def test_a_fault_is_named_by_the_file_and_the_key_at_hand() -> None:
    wrong = {"name": "c", "steps": [{"id": "a", "tool": "calculate", "inputs": [1]}]}
    with pytest.raises(InvalidSkillError, match=r"references/workflows.json: greeting-c"):
        read_workflows(skill([wrong]))
    with pytest.raises(InvalidSkillError, match=r"skill.json: required_tools"):
        skill([], required_tools=["x" * 65])


@pytest.mark.django_db
def test_adding_the_skill_makes_the_workflow_once_its_agents_are_there(
    workspace: Workspace,
) -> None:
    strange = json.loads(json.dumps(ARRIVAL).replace("writer", "butler")) | {"name": "late"}
    circle = {"name": "round", "steps": [{"id": "a", "agent": "writer", "depends_on": "a"}]}
    saved = save_skill(workspace, skill([ARRIVAL, strange, circle]), by=SYSTEM)
    assert saved.workflows == ("greeting-arrival",)
    late, round_ = saved.notes
    assert late.startswith("The workflow greeting-late was not made: ")
    assert "butler" in late
    assert round_.startswith("The workflow greeting-round was not made: ")
    row = Agent.objects.get(workspace=workspace, name="greeting-arrival")
    assert row.kind == "workflow"
    assert row.current_version is not None
    again = save_skill(workspace, skill([ARRIVAL]), by=SYSTEM)
    assert again.workflows == ("greeting-arrival",)
    assert Agent.objects.get(pk=row.pk).current_version_id == row.current_version_id
