"""A tool is tried from its page in the admin: the form of its schema, in a browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.urls import reverse
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Run, ToolBinding
from tests.web.people import person
from tools.models import CatalogueTool

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors


def test_given_a_tool_when_its_fields_are_filled_then_it_is_called_with_them(
    visitors: Visitors, workspace: Workspace
) -> None:
    agent = Agent.objects.create(workspace=workspace, name="clerk", system_prompt="Count.")
    ToolBinding.objects.create(agent=agent, tool="calculate")
    publish_agent(agent)
    tool = CatalogueTool.objects.get(name="calculate", workspace=None)
    visitor = visitors(user=person(operator=True))
    page = visitor.page
    visitor.go(reverse("admin:tools_cataloguetool_change", args=[tool.pk]))
    page.get_by_text("Try it").first.click()
    field = page.get_by_label("expression")
    page.locator("[name=agent]").select_option(str(agent.pk))
    page.get_by_role("button", name="Call").click()
    expect(page.get_by_role("alert").filter(has_text="expression")).to_be_visible()
    assert not Run.objects.filter(workspace=workspace).exists(), "nothing was sent"
    field.fill("6 * 7")
    page.get_by_role("button", name="Call").click()
    page.wait_for_url(re.compile("/runs/"))
    run = Run.objects.get(workspace=workspace)
    assert run.task == 'calculate {"expression": "6 * 7"}'
