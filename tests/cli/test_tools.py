"""`heartbit tools`, here and against a server: disable, enable and try one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import Permission

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Pause, Run, ToolBinding
from heartbit_site.base.models import Role
from heartbit_site.cli.terminal.errors import USAGE
from tests.web.people import member, person

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place
    from tests.fleet import Worker


@pytest.fixture
def place(place: Place) -> Place:
    return place.of("tools")


def test_a_tool_is_disabled_with_a_reason_and_enabled_again(
    place: Place, workspace: Workspace
) -> None:
    done = place("disable", "calculate", "--reason", "It is wrong.")
    assert (done.code, done.out) == (0, "The tool calculate is disabled.\n")
    assert Pause.objects.get(workspace=workspace).tool == "calculate"
    assert "It is wrong." in place("show", "calculate").out
    assert place("enable", "calculate").out == "The tool calculate may be called again.\n"
    assert place("enable", "calculate").out == "The tool calculate was not disabled.\n"
    wrong = place("disable", "calcualte")
    assert wrong.code == USAGE
    assert "did you mean calculate?" in wrong.err


def test_a_tool_is_tried_as_an_agent_that_has_it(
    place: Place, workspace: Workspace, worker: Worker
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    ToolBinding.objects.get_or_create(agent=agent, tool="calculate")
    publish_agent(agent)
    done = place("try", "calculate", "-a", "writer", "--arguments", '{"expression": "6 * 7"}')
    assert (done.code, done.out) == (0, "42\n"), done.err
    run = Run.objects.get(workspace=workspace, kind="tool_call")
    assert run.task == 'calculate {"expression": "6 * 7"}'
    shown = place("show", "calculate").out
    assert "  calls     1 lately\n" in shown
    assert "writer" in shown
    wrong = place("try", "calculate", "-a", "writer", "--arguments", '{"expresion": "6 * 7"}')
    assert wrong.code == 1
    assert "'expression' is required" in wrong.err


def test_a_tool_is_tried_for_a_member_whose_permission_it_takes(
    workspace: Workspace, worker: Worker, here: Place, there: Place
) -> None:
    tools = here.of("tools")
    agent = Agent.objects.get(workspace=workspace, name="writer")
    ToolBinding.objects.filter(agent=agent, tool="calculate").delete()
    ToolBinding.objects.create(agent=agent, tool="calculate", requires="auth.view_group")
    publish_agent(agent)
    anne, bob = member(workspace, Role.VIEWER), member(workspace, Role.VIEWER)
    anne.user_permissions.add(Permission.objects.get(codename="view_group"))
    call = ("try", "calculate", "-a", "writer", "--arguments", '{"expression": "6 * 7"}')
    done = tools(*call, "--as", anne.username)
    assert (done.code, done.out) == (0, "42\n"), done.err
    run = Run.objects.get(workspace=workspace, kind="tool_call")
    assert run.started_user_id == anne.pk
    assert run.started_by.startswith(f"{anne.username}, by ")
    missing = f"{bob.username} may not use calculate: the permission auth.view_group is missing."
    assert missing in " ".join(tools(*call, "--as", bob.username).err.split())
    nobody = " ".join(tools(*call).err.split())
    assert "calculate requires a person with the permission" in nobody
    stranger = tools(*call, "--as", person().username)
    assert stranger.code == USAGE
    assert "has no member" in stranger.err
    remote = there.of("tools")(*call, "--as", anne.username)
    assert (remote.code, "key cannot act" in " ".join(remote.err.split())) == (USAGE, True)
