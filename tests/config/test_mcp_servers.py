"""`[[mcp_servers]]`: imported with their tools before the agents that are given them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Agent
from agents.reads.tools import tool_usage
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.doctor import work as doctor_work
from heartbit_site.config.apply import ephemeral_agent, import_config
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.export import export
from heartbit_site.config.mcp_servers import McpServerChanges
from heartbit_site.config.read import load, parse
from tests.mcp.servers import HERE, http_server
from tests.web.shots.dealer import PROGRAM
from tools.models import CatalogueTool, McpServer

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

SERVER = """
[[mcp_servers]]
name = "parts"
command = "parts"
timeout_seconds = 30
"""
AGENT = """
[[agents]]
name = "buyer"
description = "Buys."
system_prompt = "You buy parts."
tools = ["parts_find_part", "parts_order_part"]
"""


@pytest.fixture(autouse=True)
def _allowed(settings: Settings) -> None:
    hangs = (sys.executable, str(HERE / "hostile.py"), "start")
    settings.HEARTBIT_MCP_COMMANDS = {"parts": PROGRAM, "broken": hangs}


def test_a_server_is_read_and_its_tools_are_given_to_an_agent_in_one_import(
    workspace: Workspace,
) -> None:
    changes = import_config(workspace, parse(SERVER + AGENT))
    assert changes.mcp_servers == McpServerChanges(created=("parts",))
    assert changes.notes == ()
    server = McpServer.objects.get(workspace=workspace)
    assert (server.transport, server.timeout_seconds, server.refresh_ok) == ("stdio", 30, True)
    buyer = Agent.objects.get(workspace=workspace, name="buyer")
    assert buyer.current_version is not None
    again = import_config(workspace, parse(SERVER + AGENT))
    assert again.mcp_servers == McpServerChanges(unchanged=("parts",))
    assert again.unchanged == ("buyer",)
    changed = import_config(workspace, parse(SERVER.replace("30", "31")))
    assert changed.mcp_servers == McpServerChanges(updated=("parts",))
    assert changed.losses == ()
    usual = import_config(workspace, parse(SERVER.replace("timeout_seconds = 30", "")))
    assert usual.losses == ("MCP server parts: timeout_seconds reset to its default",)
    assert "private_data" not in export(workspace)
    import_config(workspace, parse(f"{SERVER}private_data = false\n{AGENT}"))
    server.refresh_from_db()
    assert not server.private_data
    assert "private_data = false" in export(workspace)


def test_one_grant_gives_all_tools_that_the_server_has_at_the_publication(
    workspace: Workspace,
) -> None:
    one = '{ name = "parts_order_part", approval = "always" }'
    tools = f'tools = ["parts_*", {one}]'
    text = SERVER + AGENT.replace('tools = ["parts_find_part", "parts_order_part"]', tools)
    import_config(workspace, parse(text))
    names = list(CatalogueTool.objects.filter(workspace=workspace).values_list("name", flat=True))
    buyer = Agent.objects.get(workspace=workspace, name="buyer")
    given = {tool["name"]: tool["approval"] for tool in pinned(buyer)}
    assert given == {name: "always" if name == "parts_order_part" else "" for name in names}
    assert len(names) > 2
    assert tool_usage([workspace.pk])["parts_find_part"].agents == ("buyer",)
    assert "buyer" in import_config(workspace, parse(export(workspace))).unchanged

    CatalogueTool.objects.get(workspace=workspace, name="parts_find_part").delete()
    assert "parts_find_part" in {tool["name"] for tool in pinned(buyer)}, "not yet published"
    for dry_run in (True, False):
        again = import_config(workspace, parse(text), dry_run=dry_run)
        assert (again.republished, again.unchanged) == (("buyer",), ()), "it says what it publishes"
    assert "parts_find_part" not in {tool["name"] for tool in pinned(buyer)}
    assert import_config(workspace, parse(text)).unchanged == ("buyer",)
    with pytest.raises(ConfigurationError, match='unknown tool "books_\\*"'):
        import_config(workspace, parse(AGENT.replace("parts_find_part", "books_*"), tools=()))


def test_a_file_may_name_the_tools_of_a_server_that_only_the_workspace_has(
    workspace: Workspace, tmp_path: Path
) -> None:
    import_config(workspace, parse(SERVER))
    file = tmp_path / "heartbit.toml"
    tools = 'tools = ["parts_*", "parts_find_part"]'
    file.write_text(AGENT.replace('tools = ["parts_find_part", "parts_order_part"]', tools))
    import_config(workspace, load(file, workspace))
    buyer = Agent.objects.get(workspace=workspace, name="buyer")
    assert {"parts_find_part", "parts_order_part"} <= {tool["name"] for tool in pinned(buyer)}
    file.write_text(AGENT.replace("parts_find_part", "parst_*"))
    with pytest.raises(ConfigFileError, match=r'unknown tool "parst_\*"; did you mean parts_\*'):
        load(file, workspace)


def pinned(agent: Agent) -> list[dict[str, Any]]:
    agent.refresh_from_db()
    assert agent.current_version is not None
    tools: list[dict[str, Any]] = agent.current_version.snapshot["tools"]
    return tools


def test_after_an_import_the_doctor_knows_the_tools_of_its_agents(workspace: Workspace) -> None:
    import_config(workspace, parse(SERVER + AGENT))

    def named() -> bool:
        checks = [check for look in doctor_work.LOOKS for check in look()]
        return any(f"{workspace.slug}/buyer" in check.detail for check in checks)

    assert not named()
    CatalogueTool.objects.get(workspace=workspace, name="parts_find_part").delete()
    assert named()


def test_an_export_brings_the_same_servers_and_tools(workspace: Workspace) -> None:
    import_config(workspace, parse(SERVER + AGENT))
    text = export(workspace)
    assert SERVER.strip() in text
    again = import_config(workspace, parse(text))
    assert again.mcp_servers.unchanged == ("parts",)
    assert export(workspace) == text


def test_a_tool_that_the_server_does_not_have_stops_the_whole_import(workspace: Workspace) -> None:
    text = SERVER + AGENT.replace("parts_find_part", "parts_paint")
    with pytest.raises(ConfigurationError, match="parts_paint"):
        import_config(workspace, parse(text))
    assert not McpServer.objects.filter(workspace=workspace).exists()
    assert not CatalogueTool.objects.filter(workspace=workspace).exists()


def test_a_server_that_cannot_be_read_is_imported_with_a_note(workspace: Workspace) -> None:
    changes = import_config(workspace, parse(SERVER.replace('"parts"', '"broken"')))
    assert changes.mcp_servers.created == ("broken",)
    [note] = changes.notes
    assert note.startswith("The MCP server broken has no tools yet. ")
    assert "no licence" in note


def test_a_server_that_is_not_named_is_disabled_by_pruning_alone(workspace: Workspace) -> None:
    import_config(workspace, parse(SERVER))
    assert (
        import_config(
            workspace,
            parse(
                AGENT.replace("parts_find_part", "calculate").replace(', "parts_order_part"', "")
            ),
        ).mcp_servers
        == McpServerChanges()
    )
    text = AGENT.replace('tools = ["parts_find_part", "parts_order_part"]', "")
    changes = import_config(workspace, parse(text), prune=True)
    assert changes.mcp_servers == McpServerChanges(disabled=("parts",))
    assert not McpServer.objects.get(workspace=workspace).enabled


def test_a_program_that_is_not_allowed_is_refused(settings: Settings) -> None:
    settings.HEARTBIT_MCP_COMMANDS = {}
    with pytest.raises(ConfigFileError) as refused:
        parse(SERVER)
    [line] = refused.value.lines
    assert line.endswith(
        'command is "parts", which is not a program of HEARTBIT_MCP_COMMANDS: none yet.'
    )


def test_a_file_that_is_only_run_brings_no_server(workspace: Workspace) -> None:
    with pytest.raises(ConfigurationError, match="'parts' of the file is not in this workspace"):
        ephemeral_agent(workspace, parse(SERVER + AGENT), environ={})
    import_config(workspace, parse(SERVER))
    assert ephemeral_agent(workspace, parse(SERVER + AGENT), environ={}).name == "buyer"
    moved = SERVER.replace("30", "31") + AGENT
    with pytest.raises(ConfigurationError, match="is set up differently here"):
        ephemeral_agent(workspace, parse(moved), environ={})
    assert McpServer.objects.get(workspace=workspace).timeout_seconds == 30


def test_a_file_that_is_only_run_adds_the_address_of_a_server(
    workspace: Workspace, settings: Settings
) -> None:
    with http_server() as url:
        settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
        text = (
            '[[agents]]\nname = "solo"\ndescription = ""\n'
            f'system_prompt = "Be brief."\nmcp_servers = ["{url}"]\n'
        )
        solo = ephemeral_agent(workspace, parse(text), environ={})
        server = McpServer.objects.get(workspace=workspace)
        assert (server.url, server.refresh_ok) == (url, True)
        assert {tool["name"].startswith(f"{server.name}_") for tool in pinned(solo)} == {True}
    gone = AGENT.replace(
        'tools = ["parts_find_part", "parts_order_part"]',
        'mcp_servers = ["http://127.0.0.1:9/mcp"]',
    )
    with pytest.raises(ConfigurationError, match="cannot be used"):
        ephemeral_agent(workspace, parse(gone), environ={})
    assert McpServer.objects.filter(workspace=workspace).count() == 1
