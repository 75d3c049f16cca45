"""The catalogue of tools in the admin: who sees which, how their calls went, disable and try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Pause, Run, ToolBinding, ToolCall
from heartbit_site.base.actions.members import save_member
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Role, Workspace
from tests.admin import rows
from tests.clients import Client
from tools.definitions import packages
from tools.definitions.catalogue import record_installed
from tools.models import CatalogueTool

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.django_db

LIST = "/admin/tools/cataloguetool/"
SENT = {"_form_submitted": "True"}


@pytest.fixture(autouse=True)
def _installed(db: None) -> None:
    record_installed()


@pytest.fixture
def member(workspace: Workspace) -> Callable[[Role], Client]:
    def sign_in(role: Role) -> Client:
        user = User.objects.create(username=f"{role}-of-tests")
        save_member(workspace, user, role=role, by=SYSTEM)
        client = Client(headers={"host": "localhost"})
        client.force_login(user)
        return client

    return sign_in


def page(name: str, action: str = "") -> str:
    row = CatalogueTool.objects.get(name=name, workspace=None)
    if action:
        return f"{LIST}{row.pk}/{action}/"
    return reverse("admin:tools_cataloguetool_change", args=[row.pk])


def called(workspace: Workspace, tool: str, *statuses: str) -> None:
    root, _ = rows.tree(workspace)
    for number, status in enumerate(statuses):
        ToolCall.objects.create(
            run=root,
            call_id=f"9.{number}",
            tool=tool,
            arguments="{}",
            status=status,
            idempotency_key=f"{root.pk}:9.{number}",
        )


def test_an_editor_sees_tools_with_their_use_in_their_own_workspaces(
    member: Callable[[Role], Client], workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    ToolBinding.objects.get_or_create(agent=agent, tool="calculate")
    called(workspace, "calculate", "ok", "ok", "ok", "error", "refused")
    other = Workspace.objects.create(slug="other-of-tests", name="Other")
    hidden = Agent.objects.create(
        workspace=other, name="hidden", description="x", system_prompt="x"
    )
    ToolBinding.objects.create(agent=hidden, tool="calculate")
    editor = member(Role.EDITOR)
    listed = editor.get(LIST).content.decode()
    assert "calculate" in listed
    assert "4, 25% failed" in listed
    text = editor.get(page("calculate")).content.decode()
    assert "writer" in text
    assert "notmine" not in text
    assert "<code>expression</code>" in text
    assert editor.get(page("calculate", "disable")).status_code == 403
    foreign = CatalogueTool.objects.create(
        workspace=other,
        name="theirs",
        origin="mcp",
        definition=CatalogueTool.objects.get(name="calculate", workspace=None).definition,
    )
    assert "theirs" not in editor.get(LIST).content.decode()
    there = reverse("admin:tools_cataloguetool_change", args=[foreign.pk])
    assert editor.get(there).status_code in (302, 403, 404)


def test_a_package_that_cannot_be_loaded_is_shown(
    member: Callable[[Role], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = packages.BrokenPackage("acme 1.0", "The tools of acme 1.0 (acme) are left out: no.")
    monkeypatch.setattr(packages, "_broken", {"acme": broken})
    assert broken.sentence in member(Role.EDITOR).get(LIST).content.decode()


@pytest.mark.parametrize("key", ["abc", "0", "9" * 30])
def test_an_address_of_no_tool_is_answered(browser: Client, key: str) -> None:
    for action in ("try_tool", "disable", "enable", "change"):
        assert browser.get(f"{LIST}{key}/{action}/").status_code < 500


@pytest.mark.parametrize("key", ["abc", "9" * 30])
def test_an_address_of_no_tool_is_answered_for_a_member(
    member: Callable[[Role], Client], key: str
) -> None:
    editor = member(Role.EDITOR)
    for action in ("try_tool", "change"):
        assert editor.get(f"{LIST}{key}/{action}/").status_code < 500


def test_an_admin_disables_a_tool_in_their_workspace(
    member: Callable[[Role], Client], workspace: Workspace
) -> None:
    boss = member(Role.ADMIN)
    data = SENT | {"workspace": str(workspace.pk), "reason": "It is wrong."}
    assert boss.post(page("calculate", "disable"), data).status_code == 200
    assert Pause.objects.get(workspace=workspace).reason == "It is wrong."
    assert f"Disabled in {workspace}" in boss.get(page("calculate")).content.decode()
    boss.post(page("calculate", "enable"), SENT | {"workspace": workspace.pk})
    assert not Pause.objects.filter(workspace=workspace).exists()
    other = Workspace.objects.create(slug="other-of-tests", name="Other")
    boss.post(page("calculate", "disable"), data | {"workspace": str(other.pk)})
    assert not Pause.objects.filter(workspace=other).exists(), "it cannot be chosen"


def test_a_tool_is_tried_as_a_run_of_its_own(
    member: Callable[[Role], Client], workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="writer")
    ToolBinding.objects.get_or_create(agent=agent, tool="calculate")
    publish_agent(agent)
    editor = member(Role.EDITOR)
    data = SENT | {"agent": str(agent.pk), "arguments": '{"expression": "6 * 7"}'}
    led = editor.post(page("calculate", "try_tool"), data)
    run = Run.objects.get(workspace=workspace, kind="tool_call")
    assert led["HX-Redirect"] == reverse("web:run", args=[workspace.slug, run.pk])
    assert run.task == 'calculate {"expression": "6 * 7"}'
