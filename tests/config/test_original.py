"""A file of the Rust original: used as it is, but for what is written otherwise or not built."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.actions.rollback_agent import rollback_agent
from agents.definitions import snapshot
from agents.definitions.definition import BLACKBOARD
from agents.models import Agent
from agents.reads.agents import outdated_agents
from agents.runtime.toolset.offer import offered_tools
from heartbit_site.base.audit import SYSTEM
from heartbit_site.config.apply import import_config
from heartbit_site.config.build import INHERITED
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.export import export
from heartbit_site.config.read import parse
from heartbit_site.config.rust_original import MEMORY, REPLACED
from heartbit_site.config.workspace_sections import MemorySection
from tests.mcp.servers import http_server
from tools.actions.refresh_mcp_server import refresh_mcp_server
from tools.definitions.registry import registry
from tools.models import McpServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.command import Command

SAMPLE = Path(__file__).with_name("original.toml").read_text()
HERE = "http://localhost:8000/mcp"  # the MCP server of the sample
AGENT = '[[agents]]\nname = "{}"\ndescription = "d"\nsystem_prompt = "p"\nmcp_servers = {}\n'


@pytest.mark.parametrize("is_up", [False, True])
def test_the_sample_imports(
    empty: Callable[[], Workspace], settings: Settings, *, is_up: bool
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    workspace = empty()
    with http_server() if is_up else nullcontext(HERE) as url:
        sample = SAMPLE.replace(HERE, url)
        changes = import_config(workspace, parse(sample))
    assert changes.created == ("orchestrator", "researcher", "coder", "judge")
    assert {*REPLACED.values(), MEMORY} < {*changes.notes}
    server = McpServer.objects.get(workspace=workspace)
    name = "server_127_0_0_1_" if is_up else "localhost_8000"
    assert server.name.startswith(name)
    assert (server.url, server.refresh_ok) == (url, is_up)
    assert any("has no tools yet" in note for note in changes.notes) != is_up
    researcher = Agent.objects.get(workspace=workspace, name="researcher")
    assert researcher.current_version is not None
    pinned = [tool for tool in researcher.current_version.tool_names if tool not in BLACKBOARD]
    assert (f"{server.name}_add" in pinned) == is_up
    assert bool(pinned) == is_up
    assert workspace.default_model == "anthropic:claude-sonnet-4-20250514"
    limits = {
        row.name: (row.max_turns, row.max_tokens)
        for row in Agent.objects.filter(workspace=workspace)
    }
    assert limits == {
        "orchestrator": (20, 8192),
        "researcher": (20, 8192),
        "coder": (5, 8192),
        "judge": (20, 1024),
    }
    again = import_config(empty(), parse(export(workspace)))
    assert again.created == ("orchestrator", "coder", "judge", "researcher")
    assert import_config(workspace, parse(export(workspace))).updated == ()


def test_a_server_that_is_up_later_gives_its_tools_at_the_next_publication(
    empty: Callable[[], Workspace], settings: Settings
) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    workspace = empty()
    import_config(workspace, parse(AGENT.format("a", f'["{HERE}"]')))
    server = McpServer.objects.get(workspace=workspace)
    assert outdated_agents(server) == []
    with http_server() as url:
        server.url = url
        server.save()
        assert refresh_mcp_server(server, by=SYSTEM).ok
    assert outdated_agents(server) == ["a"]
    agent = Agent.objects.get(workspace=workspace)
    assert "localhost_8000_add" in publish_agent(agent).tool_names
    assert outdated_agents(server) == []
    server.enabled = False
    server.save()
    assert publish_agent(agent).tool_names == [], "an agent of a disabled server can be published"


def test_addresses_of_agents_become_servers_named_after_them() -> None:
    long = "https://a-very-long-name.example.com/mcp"
    urls = [
        "https://mcp.example.com/mcp",
        "https://mcp.example.com/other",
        "https://known.example.com/mcp",
        "http://127.0.0.1:9/",
        long,
        f"{long}/2",
    ]
    known = '[[mcp_servers]]\nname = "tracker"\nurl = "https://known.example.com/mcp"\n'
    found = parse(AGENT.format("a", [*urls, urls[0]]) + AGENT.format("b", [long]) + known)
    expected = {
        "tracker": urls[2],
        "mcp_example_com": urls[0],
        "mcp_example_com_2": urls[1],
        "server_127_0_0_1_9": urls[3],
        "a_very_long_name_example": long,
        "a_very_long_name_examp_2": f"{long}/2",
    }
    assert {server.name: server.url for server in found.mcp_servers} == expected
    _, a, b = found.agents
    names = {tool.name for tool in a.tools} - {*BLACKBOARD}
    assert names == {f"{name}_*" for name in expected}
    assert "a_very_long_name_example_*" in {tool.name for tool in b.tools}
    [first, second] = found.notes
    assert first.startswith("a: mcp_servers is read as [[mcp_servers]] mcp_example_com, ")
    assert second.startswith("b: ")


def test_a_grant_that_the_agent_has_already_stays_as_it_is() -> None:
    own = 'tools = [{ name = "localhost_8000_*", approval = "always" }]\n'
    [agent] = parse(AGENT.format("a", f'["{HERE}"]') + own).agents
    [tool] = agent.tools
    assert (tool.name, tool.approval) == ("localhost_8000_*", "always")


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("5", "5:1: agents.a.mcp_servers must be an array of the URLs of MCP servers."),
        ('["x"]', "5:16: agents.a.mcp_servers[1] is not an http or https URL;"),
        (
            '[{ url = "https://x.test", auth_header = "Bearer geheim" }]',
            "5:16: agents.a.mcp_servers[1] must be the URL of an MCP server in quotes:",
        ),
        (
            '["https://me:geheim@x.test"]',
            "5:16: agents.a.mcp_servers[1] contains a name, a password",
        ),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_at_its_place(value: str, line: str) -> None:
    with pytest.raises(ConfigFileError) as refused:
        parse(AGENT.format("a", value))
    [found] = refused.value.lines
    assert line in found
    assert "geheim" not in found


@pytest.mark.parametrize(
    "text",
    [
        f'tools = 5\nmcp_servers = ["{HERE}"]',
        f'tools = [[1], {{ name = [] }}]\nmcp_servers = ["{HERE}"]',
        f'mcp_servers = ["{HERE}"]\n[[mcp_servers]]\nname = [1]\nurl = {{}}',
        f'mcp_servers = ["{HERE}"]\n[[agents]]\nname = 5\nmcp_servers = ["{HERE}"]',
    ],
)
def test_wrong_types_beside_addresses_are_reported_as_ever(text: str) -> None:
    with pytest.raises(ConfigFileError):
        parse(AGENT.format("a", "[]").replace("mcp_servers = []\n", "") + text)
    with pytest.raises(ConfigFileError):
        parse(f"mcp_servers = 5\n{AGENT.format('a', [HERE])}")


@pytest.mark.parametrize("value", ["{}", "5", '[{ endpoint = "x" }]'])
@pytest.mark.parametrize("section", REPLACED)
def test_a_replaced_section_is_answered_with_what_replaced_it(section: str, value: str) -> None:
    assert parse(f"{section} = {value}\n").notes == (REPLACED[section],)
    assert parse("").notes == ()


@pytest.mark.parametrize(
    ("steps", "place"),
    [
        (
            '[[workflows.steps]]\nid = "find"\nagent = "a"\naction = "research"\n'
            '[[workflows.steps]]\nid = "write"\nagent = "a"\ndepends_on = ["find"]\n',
            "heartbit.toml:3:13: workflows.review.steps are the steps of",
        ),
        (
            '[workflows.steps.find]\nagent = "a"\naction = "research"\n',
            "heartbit.toml:5:1: workflows.review.steps.find.action is a key of",
        ),
        (
            '[workflows.steps.find]\nagent = "a"\ntask = "x"\n'
            "[workflows.steps.write]\ndepends_on = []\n",
            "heartbit.toml:7:1: workflows.review.steps.write.depends_on is a key of",
        ),
    ],
)
def test_steps_of_its_workflows_are_answered_with_what_replaced_them(
    steps: str, place: str
) -> None:
    with pytest.raises(ConfigFileError) as refused:
        parse(f'[[workflows]]\nname = "review"\n{steps}')
    [line] = refused.value.lines
    assert line.startswith(place)
    assert "`needs` in place of depends_on (docs/howto/workflows.md)" in line


def test_the_keys_of_its_memory_are_answered_and_the_others_are_read() -> None:
    found = parse('[memory]\ntype = "postgres"\nkept_days = 7\n')
    assert (found.notes, found.memory) == ((MEMORY,), MemorySection(kept_days=7))
    alone = parse('[memory]\ntype = "in_memory"\n')
    assert (alone.notes, alone.memory) == ((MEMORY,), None)


def test_check_and_import_say_what_replaced_a_section(heartbit: Command, tmp_path: Path) -> None:
    file = tmp_path / "heartbit.toml"
    file.write_text("[restate]\n")
    checked = heartbit("config", "check", str(file))
    assert (checked.code, checked.err) == (0, f"{REPLACED['restate']}\n")
    as_json = heartbit("config", "check", str(file), "--json")
    assert as_json.json["notes"] == [REPLACED["restate"]]
    imported = heartbit("config", "import", str(file))
    assert (imported.code, imported.err) == (0, f"{REPLACED['restate']}\n")


TWO = """
[orchestrator]
max_turns = 7
[[agents]]
name = "a"
description = "d"
system_prompt = "p"
tools = ["calculate", { name = "blackboard_write", enabled = false }]
[[agents]]
name = "b"
description = "d"
system_prompt = "p"
"""


def offered(agent: Agent, *, has_parent: bool) -> list[str]:
    version = agent.current_version
    assert version is not None
    definition = snapshot.read(version.pk, agent.pk, agent.name, version.snapshot)
    return sorted(
        offered_tools(definition, registry, is_child=has_parent, has_parent=has_parent).specs
    )


def test_what_works_below_another_run_has_the_blackboard_unless_the_file_says_otherwise(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    import_config(workspace, parse(TWO))
    copy = empty()
    import_config(copy, parse(export(workspace)))
    for where in (workspace, copy):
        a, b = Agent.objects.filter(workspace=where, name__in="ab").order_by("name")
        assert offered(a, has_parent=True) == ["blackboard_list", "blackboard_read", "calculate"]
        assert offered(b, has_parent=True) == [*BLACKBOARD]
        assert offered(b, has_parent=False) == []
    assert export(copy) == export(workspace)


def test_a_rollback_restores_which_tools_of_the_blackboard_are_turned_off(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    import_config(workspace, parse(TWO))
    row = Agent.objects.get(workspace=workspace, name="a")
    row.bindings.filter(tool="blackboard_write").delete()
    publish_agent(row)
    assert offered(row, has_parent=True) == [*BLACKBOARD, "calculate"]
    rollback_agent(row, 1, by=SYSTEM)
    assert offered(row, has_parent=True) == ["blackboard_list", "blackboard_read", "calculate"]
    rollback_agent(row, 2, by=SYSTEM)
    assert offered(row, has_parent=True) == [*BLACKBOARD, "calculate"]


def test_limits_that_agents_take_from_the_orchestrator_come_back_from_an_export(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    import_config(workspace, parse(TWO))
    agents = Agent.objects.filter(workspace=workspace)
    agents.filter(name="b").update(max_turns=10)  # the usual default, said against seven
    copy = empty()
    import_config(copy, parse(export(workspace)))
    for agent in agents:
        same = Agent.objects.get(workspace=copy, name=agent.name)
        assert [getattr(same, name) for name in INHERITED] == [
            getattr(agent, name) for name in INHERITED
        ], agent.name
