"""A workflow as a row: files, exports, versions, the API and the admin's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from agents.actions.publish_agent import publish_agent
from agents.actions.rollback_agent import rollback_agent
from agents.definitions.validation_messages import InvalidSettingError
from agents.models import Agent
from agents.reads.agents import definition_of, grantable
from agents.runtime.toolset.offer import offered_tools
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.access import Access
from heartbit_site.base.audit import SYSTEM
from heartbit_site.config.apply import import_config
from heartbit_site.config.export import export
from heartbit_site.config.read import parse
from heartbit_site.operations.agents import compare_versions, show_agent
from tests.admin.conftest import browser
from tools.definitions.catalogue import catalogue

if TYPE_CHECKING:
    from django.test import Client

    from heartbit_site.base.models import Workspace

__all__ = ["browser"]
TEXT = """
[[agents]]
name = "scribe"
description = "Writes."
system_prompt = "Write."

[[workflows]]
name = "digest"
description = "Sums up."
limits = { cost_usd = "1.50" }
[workflows.steps.sum]
tool = "calculate"
arguments = { expression = "{{ input.n }} * 7" }
[workflows.steps.fact]
agent = "scribe"
retry = 2
[workflows.steps.send]
needs = ["sum", "fact"]
ask = "Publish {{ steps.fact.output }}?"
timeout = "2d"
"""


@pytest.fixture
def digest(workspace: Workspace) -> Agent:
    import_config(workspace, parse(TEXT))
    return Agent.objects.get(workspace=workspace, name="digest")


def test_the_same_file_changes_nothing(workspace: Workspace, digest: Agent) -> None:
    assert (digest.kind, digest.queue) == ("workflow", "agents")
    assert [grant.tool for grant in digest.bindings.all()] == ["calculate"]
    assert [member.name for member in digest.team.all()] == ["scribe"]
    again = import_config(workspace, parse(TEXT))
    assert (again.created, again.updated) == ((), ())
    assert digest.versions.count() == 1


def test_it_is_exported_and_imported_as_it_was(workspace: Workspace, digest: Agent) -> None:
    text = export(workspace)
    tools = grantable(workspace.pk, catalogue(workspace.pk))
    assert import_config(workspace, parse(text, tools=tools)).updated == ()
    changed = parse(text.replace("* 7", "* 8"), tools=tools)
    assert import_config(workspace, changed).fields["digest"] == ("definition",)
    assert export(workspace) == text.replace("* 7", "* 8")
    digest.refresh_from_db()
    assert rollback_agent(digest, 1, by=SYSTEM).version.number == 1
    assert export(workspace) == text


def test_the_api_shows_its_settings_and_versions(workspace: Workspace, digest: Agent) -> None:
    import_config(workspace, parse(TEXT.replace('"2d"', '"3d"')))
    access = Access(workspace, "ada", "api", frozenset({"agents:read"}), None)
    shown = show_agent(access, "digest")
    assert (shown.kind, shown.team, shown.tools) == ("workflow", ["scribe"], ["calculate"])
    nodes = shown.definition["nodes"]
    assert isinstance(nodes, list)
    assert [node["name"] for node in nodes if isinstance(node, dict)] == ["sum", "fact", "send"]
    assert compare_versions(access, "digest").changed


def test_a_row_with_a_fault_is_not_published(digest: Agent) -> None:
    digest.definition["nodes"][1]["agent"] = "nobody"
    digest.save()
    with pytest.raises(InvalidSettingError, match=r"'digest': .*unknown agent \"nobody\""):
        publish_agent(digest)


def test_the_agents_page_of_it_leads_to_its_own(digest: Agent, browser: Client) -> None:
    url = reverse("admin:agents_agent_change", args=[digest.pk])
    page = browser.get(url)
    assert page.headers["location"] == reverse("admin:agents_workflow_change", args=[digest.pk])
    assert browser.post(url, {"name": "digest"}).status_code == 403


def test_an_agent_that_delegates_to_it_is_told_its_input(
    workspace: Workspace, digest: Agent
) -> None:
    schema = 'input = { type = "object", required = ["n"] }'
    leader = """
[orchestrator]
system_prompt = "Lead."
team = ["scribe", "digest"]
"""
    text = leader + TEXT.replace('description = "Sums up."', f'description = "Sums up."\n{schema}')
    import_config(workspace, parse(text))
    row = Agent.objects.select_related("current_version").get(
        workspace=workspace, name="orchestrator"
    )
    assert row.current_version is not None
    offer = offered_tools(definition_of(row.current_version), {}, is_child=False, has_parent=False)
    assert "The team: scribe (Writes.)." in offer.specs["delegate_task"].description
    tool = offer.specs["workflow-digest"]
    assert tool.description == "Run the workflow digest. Sums up."
    assert tool.parameters == {"type": "object", "required": ["n"], "properties": {}}
    assert row.current_version.number == 2, "once more than with the workspace's first team"
    [_, member] = sorted(row.current_version.snapshot["team"], key=lambda one: len(one))
    digest.refresh_from_db()
    assert digest.current_version is not None
    assert member["version"] == digest.current_version.hash


def test_a_step_that_handles_errors_is_not_sent_the_input() -> None:
    steps = {"find": {"tool": "calculate", "on_error": "mend"}, "mend": {"set": {}}}
    spec = WorkflowSpec.model_validate({"name": "guarded", "steps": steps})
    assert spec.start == ["find"]
