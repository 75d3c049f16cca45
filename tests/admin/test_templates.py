"""Agents from templates: the cards, the form that each fills, and what saving it publishes."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from agents.choices import BindingApproval
from agents.definitions.templates import TEMPLATES, AgentTemplate
from agents.models import Agent
from heartbit_site.base.models import Membership, Role, Workspace
from tests.admin.forms import filled, filled_undrawn
from tests.clients import Client
from tools.definitions.registry import registry

pytestmark = pytest.mark.django_db

CARDS = "/admin/agents/agent/add_from_template/"
ADD = "/admin/agents/agent/add/"


@pytest.fixture(params=TEMPLATES.values(), ids=list(TEMPLATES))
def template(request: pytest.FixtureRequest) -> AgentTemplate:
    found: AgentTemplate = request.param
    return found


def member(workspace: Workspace, role: str) -> Client:
    user = User.objects.create(username=f"p-{secrets.token_hex(4)}", is_staff=True)
    Membership.objects.create(workspace=workspace, user=user, role=role)
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def opened(browser: Client, template: str) -> Any:
    return browser.get(ADD, {"template": template})


def test_given_a_template_then_its_tools_exist_and_its_texts_fit(template: AgentTemplate) -> None:
    names = [tool.name for tool in template.tools]
    assert names
    assert set(names) <= set(registry)
    assert len(names) == len(set(names))
    assert {tool.approval for tool in template.tools} <= {"", *BindingApproval.values}
    assert template.description.endswith(".")
    assert len(template.description) <= 300


def test_when_the_form_that_it_fills_is_saved_as_it_is_then_a_valid_agent_is_published(
    workspace: Workspace, template: AgentTemplate
) -> None:
    editor = member(workspace, Role.EDITOR)
    url = f"{ADD}?template={template.name}"
    shown = editor.get(url)
    response = editor.post(url, filled(shown))
    assert response.status_code == 302, response.context["errors"]
    name = "researcher-2" if template.name == "researcher" else template.name  # one is there
    agent = Agent.objects.get(workspace=workspace, name=name)
    assert agent.current_version is not None
    published = agent.current_version.snapshot
    assert published["system_prompt"] == template.system_prompt
    tools = {tool["name"]: tool for tool in published["tools"]}
    assert set(tools) == {tool.name for tool in template.tools}
    for tool in template.tools:
        assert tools[tool.name].get("approval", "") == tool.approval
        assert tools[tool.name].get("approval_seconds") == tool.approval_timeout_seconds
    assert published["limits"]["max_turns"] == template.max_turns
    assert published["limits"]["max_run_tokens"] == template.max_run_tokens


def test_given_a_template_then_the_form_names_it_and_what_is_left_to_do(
    browser: Client, workspace: Workspace
) -> None:
    text = opened(browser, "planner").content.decode()
    assert "Planner with a team." in text
    assert "Choose its members under Team" in text
    assert "Planner with a team" not in browser.get(ADD).content.decode()


def test_given_a_tool_taken_out_of_the_form_when_it_is_saved_then_the_agent_has_the_others(
    browser: Client, workspace: Workspace
) -> None:
    url = f"{ADD}?template=support"
    data = filled_undrawn(browser, url) | {"workspace": workspace.pk, "bindings-1-DELETE": "on"}
    assert browser.post(url, data).status_code == 302
    agent = Agent.objects.get(workspace=workspace, name="support")
    others = {tool.name for tool in TEMPLATES["support"].tools} - {"http_request"}
    assert {binding.tool for binding in agent.bindings.all()} == others


def test_given_a_refused_form_then_it_is_shown_as_it_was_sent(
    browser: Client, workspace: Workspace
) -> None:
    url = f"{ADD}?template=support"
    sent = filled_undrawn(browser, url) | {"workspace": workspace.pk, "name": "No!"}
    shown = browser.post(url, sent | {"bindings-0-tool": "calculate"})
    assert shown.status_code == 200
    assert filled(shown)["bindings-0-tool"] == "calculate"
    assert filled(shown)["name"] == "No!"
    assert not Agent.objects.filter(workspace=workspace, name="support").exists()


def test_given_a_template_that_is_not_there_then_the_form_is_empty(
    browser: Client, workspace: Workspace
) -> None:
    data = filled(opened(browser, "nobody"))
    assert "system_prompt" not in data or not data["system_prompt"]
    assert data["bindings-TOTAL_FORMS"] == 0


@pytest.mark.parametrize("workspace_in_address", ["no number", "9" * 30, ""])
def test_given_an_address_with_no_workspace_that_is_there_then_the_form_is_shown(
    browser: Client, workspace: Workspace, workspace_in_address: str
) -> None:
    shown = browser.get(ADD, {"template": "support", "workspace": workspace_in_address})
    assert shown.status_code == 200
    assert filled(shown)["name"] == "support"


def test_given_another_workspace_in_the_address_then_the_name_tells_nothing_of_its_agents(
    workspace: Workspace,
) -> None:
    slug = f"t-{secrets.token_hex(4)}"
    mine = Workspace.objects.create(slug=slug, name=slug)
    asked = {"template": "researcher", "workspace": str(workspace.pk)}  # which has such an agent
    shown = member(mine, Role.EDITOR).get(ADD, asked)
    assert filled(shown)["name"] == "researcher"


def test_given_an_agent_then_a_templates_name_in_its_address_changes_nothing(
    browser: Client, workspace: Workspace
) -> None:
    writer = Agent.objects.get(workspace=workspace, name="writer")
    page = reverse("admin:agents_agent_change", args=[writer.pk])
    shown = browser.get(page, {"template": "support"})
    assert filled(shown) == filled_undrawn(browser, page)
    assert "Customer support." not in shown.content.decode()


def test_the_cards_are_for_those_who_may_add_agents(guest: Client, workspace: Workspace) -> None:
    editor, viewer = (member(workspace, role) for role in (Role.EDITOR, Role.VIEWER))
    agents = reverse("admin:agents_agent_changelist")
    assert CARDS in editor.get(agents).content.decode()
    cards = editor.get(CARDS).content.decode()
    for template in TEMPLATES.values():
        assert f'href="{ADD}?template={template.name}"' in cards
        assert template.title in cards
    assert CARDS not in viewer.get(agents).content.decode()
    assert viewer.get(CARDS).status_code == guest.get(CARDS).status_code == 403
    assert opened(viewer, "support").status_code == 403
