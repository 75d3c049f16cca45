"""Runs whose agents have tools of MCP servers: read, offered, called, changed and lost."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.publish_agent import publish_agent
from agents.choices import RunStatus
from agents.definitions.advice import advice, asks
from agents.definitions.spec import AgentSpec
from agents.models import Agent, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConfigurationError, ConflictError
from heartbit_site.base.models import AuditEntry
from heartbit_site.base.toolspec import Effect
from tests.mcp.servers import HERE, STDIO, http_server
from tests.runtime.deciding import waiting
from tools.actions.credentials import save_credential
from tools.actions.mcp_servers import accept_mcp_change, remove_mcp_server, save_mcp_server
from tools.actions.refresh_mcp_server import Refresh, refresh_mcp_server
from tools.definitions.catalogue import catalogue
from tools.models import CatalogueTool, Credential, McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
ANNE = Actor("anne", via="admin")
TOKEN = "tok-5f2c-canary"


@pytest.fixture(autouse=True)
def _allowed(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    bad = (sys.executable, str(HERE / "hostile.py"))
    settings.HEARTBIT_MCP_COMMANDS = {"shop": STDIO, "hang": (*bad, "hang"), "exit": (*bad, "exit")}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server() as url:
        yield url


def added(workspace: Workspace, name: str = "shop", **fields: Any) -> McpServer:
    server = McpServer(workspace=workspace, name=name, **fields)
    if not server.url:
        server.transport = McpServer.Transport.STDIO
        server.command = server.command or "shop"
    save_mcp_server(server, by=ANNE)
    return server


def refreshed(server: McpServer) -> Refresh:
    return refresh_mcp_server(server, by=ANNE)


async def ran(studio: Studio, calls: str) -> tuple[Run, list[tuple[str, str]]]:
    run = await studio.run(f"[[calls: {calls}]] [[text: Done.]]")

    def results() -> list[tuple[str, str]]:
        return [(call.status, call.result or "") for call in run.calls.order_by("id")]

    return run, await orm.run_in_thread(results)


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_an_agent_calls_the_tools_of_a_server(
    studio: Studio, agent: Create, workspace: Workspace, url: str, transport: str
) -> None:
    def made() -> None:
        server = added(workspace, url=url if transport == "http" else "")
        result = refreshed(server)
        assert result.ok, result.message
        assert result.message == "It has 16 tools."
        assert server.facts["server"] == "shop"
        row = CatalogueTool.objects.get(workspace=workspace, name="shop_add")
        assert (row.origin, row.source, row.remote_name) == ("mcp", "shop", "add")
        assert row.definition.effect == Effect.AT_MOST_ONCE
        agent(tools=("shop_add", "shop_echo", "shop_fail", "calculate"))

    await orm.run_in_thread(made)
    calls = (
        'shop_add {"a": 2, "b": 3}, shop_echo {"text": "Grüße"}, shop_fail {"why": "x"}, '
        'shop_add {"a": "two", "b": 3}, calculate {"expression": "6*7"}'
    )
    run, results = await ran(studio, calls)
    assert run.status == RunStatus.SUCCEEDED
    assert json.loads(results[0][1]) == {"total": 5}
    assert results[1][1] == "Grüße"
    assert results[2][1] == "McpToolError: Error executing tool fail"
    assert "is not of type integer" in results[3][1]
    assert results[4][1] == "42"


async def test_the_credential_goes_with_the_call_and_nowhere_else(
    studio: Studio, agent: Create, workspace: Workspace, url: str
) -> None:
    def made() -> None:
        for name, token in (("shop key", TOKEN), ("another", "no")):
            row = Credential(workspace=workspace, name=name, kind="bearer")
            save_credential(row, {"url": url, "token": token}, by=ANNE)
        refreshed(added(workspace, url=url, credential="shop key"))
        agent(tools=("shop_header",))

    await orm.run_in_thread(made)
    run, results = await ran(studio, 'shop_header {"name": "authorization"}')
    assert results[0][1] == f"Bearer {TOKEN}"
    elsewhere = await orm.run_in_thread(lambda: str([e.details for e in AuditEntry.objects.all()]))
    assert TOKEN not in elsewhere

    def moved() -> str:
        row = Credential.objects.get(workspace=workspace, name="shop key")
        save_credential(row, {"url": "https://api.example.com", "token": TOKEN}, by=ANNE)
        return refreshed(McpServer.objects.get(workspace=workspace)).message

    assert (
        "is only sent to URLs below https://api.example.com: use such a URL."
        in await orm.run_in_thread(moved)
    )
    run, results = await ran(studio, 'shop_header {"name": "authorization"}')
    assert TOKEN not in results[0][1]
    assert run.status == RunStatus.SUCCEEDED


async def test_a_changed_tool_waits_for_consent(
    studio: Studio, agent: Create, workspace: Workspace
) -> None:
    with http_server() as url:

        def made() -> None:
            refreshed(added(workspace, url=url))
            agent(tools=("shop_echo", "shop_change"))

        await orm.run_in_thread(made)
        echo = 'shop_echo {"text": "a"}'
        _, results = await ran(studio, echo)
        assert results[-1][1] == "a"
        await ran(studio, "shop_change {}")
        for _ in range(40):
            _, results = await ran(studio, echo)
            if "changed the tool" in results[-1][1]:
                break
        assert "changed the tool shop_echo, so it is not called" in results[-1][1]

        def consented() -> None:
            server = McpServer.objects.get(workspace=workspace)
            assert server.needs_refresh
            result = refreshed(server)
            assert result.changed == ("shop_echo",)
            assert not McpServer.objects.get(pk=server.pk).needs_refresh
            row = CatalogueTool.objects.select_related("pending").get(
                workspace=workspace, name="shop_echo"
            )
            assert row.pending is not None
            assert row.pending.description.endswith("send it to my author.")

        await orm.run_in_thread(consented)
        _, results = await ran(studio, echo)
        assert "changed the tool shop_echo, so it is not called" in results[-1][1]

        def accepted() -> None:
            server = McpServer.objects.get(workspace=workspace)
            row = CatalogueTool.objects.get(workspace=workspace, name="shop_echo")
            with pytest.raises(ConflictError, match="has changed again"):
                accept_mcp_change(server, "shop_echo", row.definition_id, by=ANNE)
            accept_mcp_change(server, "shop_echo", row.pending_id or "", by=ANNE)
            publish_agent(Agent.objects.get(workspace=workspace, name="solo"))
            assert (
                AuditEntry.objects.filter(workspace=workspace, action="mcp_server.accept").count()
                == 1
            )

        await orm.run_in_thread(accepted)
        _, results = await ran(studio, echo)
        assert results[-1][1] == "A"


async def test_a_server_that_hangs_dies_or_restarts_loses_no_run(
    studio: Studio, agent: Create, workspace: Workspace
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def made(url: str) -> None:
        refreshed(added(workspace, url=url))
        refreshed(added(workspace, "hang", command="hang", timeout_seconds=3))
        refreshed(added(workspace, "exit", command="exit"))
        agent(tools=("shop_echo", "hang_good", "exit_good", "shop_die"))

    with http_server(port) as url:
        await orm.run_in_thread(partial(made, url))
        run, results = await ran(studio, 'hang_good {}, exit_good {}, shop_echo {"text": "a"}')
        assert run.status == RunStatus.SUCCEEDED
        assert "did not finish" in results[0][1]
        assert "exit failed: its process ended: KeyError: 'no such table'." in results[1][1]
        assert results[2][1] == "a"
        run, results = await ran(studio, "shop_die {}")
        assert run.status == RunStatus.SUCCEEDED
        assert "shop failed: Talking to 127.0.0.1 failed" in results[0][1]
    run, results = await ran(studio, 'shop_echo {"text": "a"}')
    assert run.status == RunStatus.SUCCEEDED
    assert "The MCP server shop failed: " in results[0][1]
    with http_server(port):
        run, results = await ran(studio, 'shop_echo {"text": "b"}, exit_good {}')
        assert results[0][1] == "b"
        assert "KeyError" in results[1][1]


async def test_disabled_and_removed_servers_are_not_called(
    studio: Studio, agent: Create, workspace: Workspace, url: str
) -> None:
    def made() -> None:
        refreshed(added(workspace, url=url))
        agent(tools=("shop_echo",))

    def disabled() -> None:
        server = McpServer.objects.get(workspace=workspace)
        server.enabled = False
        save_mcp_server(server, by=ANNE)

    await orm.run_in_thread(made)
    await orm.run_in_thread(disabled)
    run, results = await ran(studio, 'shop_echo {"text": "a"}')
    assert results[0][1] == "McpError: The MCP server shop is disabled."
    await orm.run_in_thread(
        lambda: remove_mcp_server(McpServer.objects.get(workspace=workspace), by=ANNE)
    )
    run, _ = await ran(studio, 'shop_echo {"text": "a"}')
    assert run.status == RunStatus.SUCCEEDED
    assert not await orm.run_in_thread(
        CatalogueTool.objects.filter(workspace=workspace, name="shop_echo").exists
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "My Shop", "url": "https://x.example/mcp"}, "use lower-case letters, digits"),
        ({"name": "shop", "url": "ftp://x"}, "write it like https://mcp.example.com/mcp."),
        ({"name": "shop", "url": "https://a:b@x.example/"}, "a credential has its own setting."),
        (
            {"name": "shop", "transport": "stdio", "command": "rm"},
            'is "rm", which is not a program of HEARTBIT_MCP_COMMANDS: shop, hang, exit.',
        ),
        (
            {"name": "shop", "url": "https://x.example/mcp", "timeout_seconds": 0},
            "The timeout must be at least 1.",
        ),
    ],
)
def test_a_wrong_server_is_refused_with_a_sentence(
    workspace: Workspace, fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        save_mcp_server(McpServer(workspace=workspace, **fields), by=ANNE)
    assert sentence in str(refused.value)
    assert refused.value.field


@pytest.mark.django_db
def test_hints_count_for_a_trusted_server_alone(workspace: Workspace, url: str) -> None:
    server = added(workspace, url=url, trusted=True)
    refreshed(server)
    effects = dict(
        CatalogueTool.objects.filter(server=server).values_list("remote_name", "definition__effect")
    )
    assert effects["add"] == effects["resources/read"] == Effect.PURE
    assert effects["echo"] == Effect.AT_MOST_ONCE


async def test_what_a_server_told_may_be_told_it_again_and_others_only_with_consent(
    studio: Studio, agent: Create, workspace: Workspace, url: str
) -> None:
    def made() -> McpServer:
        server = added(workspace, url=url)
        refreshed(server)
        agent(tools=("shop_echo", "http_get"))
        return server

    server = await orm.run_in_thread(made)
    echo = '[[calls: shop_echo {"text": "a"}]] [[then: shop_echo {"text": "b"}]]'
    run = await studio.run(f"{echo} [[text: Done.]]")
    assert run.status == RunStatus.SUCCEEDED

    run_id = await studio.start(f'{echo} [[then: http_get {{"url": "{url}"}}]] [[text: Done.]]')
    [call] = await waiting(studio, run_id)
    assert call.approval_view is not None
    assert call.approval_view["reason"] == (
        "http_get sends data out, after private data (shop_echo) and text by outsiders "
        "(shop_echo) were read."
    )

    def holds_none() -> None:
        server.private_data = False
        save_mcp_server(server, by=ANNE)
        labels = CatalogueTool.objects.filter(server=server, name="shop_echo")
        assert labels.values_list("labels", flat=True)[0] == ["outbound", "untrusted"]

    await orm.run_in_thread(holds_none)
    run = await studio.run(f"{echo} [[text: Done.]]")
    assert run.status == RunStatus.SUCCEEDED


async def test_what_came_from_a_server_that_outsiders_use_goes_back_only_with_consent(
    studio: Studio, agent: Create, workspace: Workspace, url: str
) -> None:
    """A stranger's mail asks for a search of the mailbox, and for the answer to be sent to them."""

    def made() -> None:
        server = added(workspace, url=url)
        refreshed(server)
        server.shared = True
        save_mcp_server(server, by=ANNE)  # also what was read before is labelled
        agent(tools=("shop_echo",))

    await orm.run_in_thread(made)
    run_id = await studio.start(
        '[[calls: shop_echo {"text": "a"}]] [[then: shop_echo {"text": "b"}]] [[text: Done.]]'
    )
    [call] = await waiting(studio, run_id)
    assert call.approval_view is not None
    assert call.approval_view["reason"].startswith("shop_echo sends data out, after private data")


async def test_two_servers_do_not_learn_of_each_other_without_consent(
    studio: Studio, agent: Create, workspace: Workspace, url: str
) -> None:
    def made() -> None:
        for name in ("shop", "bank"):
            refreshed(added(workspace, name=name, url=url))
        agent(tools=("shop_echo", "bank_echo"))

    await orm.run_in_thread(made)
    run_id = await studio.start(
        '[[calls: shop_echo {"text": "a"}]] [[then: bank_echo {"text": "b"}]] [[text: Done.]]'
    )
    [call] = await waiting(studio, run_id)
    assert call.tool == "bank_echo"


@pytest.mark.django_db
def test_what_only_reads_its_own_sends_nothing_out_if_the_server_is_trusted(
    workspace: Workspace, url: str
) -> None:
    server = added(workspace, url=url)

    def outbound() -> set[str]:
        rows = CatalogueTool.objects.filter(server=server)
        return {name for name, labels in rows.values_list("name", "labels") if "outbound" in labels}

    refreshed(server)
    everything = outbound()
    assert "shop_resources_list" in everything
    server.trusted = True
    save_mcp_server(server, by=ANNE)
    assert outbound() == everything  # what the hints say is read by the next refresh
    refreshed(server)
    assert everything - outbound() == {
        "shop_prompts_get",
        "shop_prompts_list",
        "shop_resources_list",
    }
    server.trusted = False
    save_mcp_server(server, by=ANNE)
    assert outbound() == everything


@pytest.mark.django_db
def test_the_advice_at_save_speaks_of_servers_that_hold_private_data(
    workspace: Workspace, url: str
) -> None:
    server = added(workspace, url=url)
    refreshed(server)
    settings = {"name": "clerk", "description": "D.", "system_prompt": "P.", "tools": ["shop_*"]}
    spec = AgentSpec.model_validate(settings)
    assert not list(advice(spec, catalogue(workspace.pk)))  # one server alone is no mixture
    assert not list(asks(spec, catalogue(workspace.pk)))
    server.shared = True
    save_mcp_server(server, by=ANNE)
    assert len(list(asks(spec, catalogue(workspace.pk)))) == 1
    server.shared = False
    save_mcp_server(server, by=ANNE)
    spec = AgentSpec.model_validate({**settings, "tools": ["shop_*", "http_get"]})
    mixed, remedy = advice(spec, catalogue(workspace.pk))
    assert mixed.startswith("clerk can read private data (shop_*), read text by outsiders (shop_*")
    assert remedy.startswith("The data of shop counts as private")
    [asked] = asks(spec, catalogue(workspace.pk))
    assert asked.startswith("Once clerk has read private data (shop_*) and text by outsiders")
    server.private_data = False
    save_mcp_server(server, by=ANNE)
    assert not list(advice(spec, catalogue(workspace.pk)))


@pytest.mark.django_db
def test_signs_that_cannot_be_stored_or_seen_are_shown(
    workspace: Workspace, settings: Settings
) -> None:
    words = (sys.executable, str(HERE / "hostile.py"), "signs")
    settings.HEARTBIT_MCP_COMMANDS = {"signs": words}
    server = added(workspace, "signs", command="signs")
    result = refreshed(server)
    assert result.ok, result.message
    server.refresh_from_db()
    assert server.facts["server"] == "host\\u0000ile"
    assert "Left out: a\\u0000b" in server.refresh_message
    row = CatalogueTool.objects.get(workspace=workspace, name="signs_good")
    assert "\0" not in row.definition.description


@pytest.mark.django_db
def test_a_refresh_that_fails_keeps_the_tools(workspace: Workspace, url: str) -> None:
    server = added(workspace, url=url)
    refreshed(server)
    server.url = "http://127.0.0.1:9/mcp"
    save_mcp_server(server, by=ANNE)
    result = refreshed(server)
    assert not result.ok
    assert result.message.startswith("The MCP server shop failed: Talking to 127.0.0.1 failed")
    assert CatalogueTool.objects.filter(server=server).count() == 16
