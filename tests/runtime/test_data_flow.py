"""S5: each source of text and each way out has a label, and six ways round the rule are closed."""

from __future__ import annotations

import inspect
import json
import secrets
from typing import TYPE_CHECKING, Any, get_args

import pytest

from agents.actions.admit import create_deliveries
from agents.actions.deliver_results import deliver_results
from agents.actions.redeliver import redeliver_result
from agents.choices import DeliveryStatus, Placement, RunStatus
from agents.delivery.targets import Target, ending_of, target_of
from agents.live.follow import wait_for_end
from agents.loop import delegation, script_tools
from agents.models import Agent, Delivery
from agents.runtime.execution.known_memories import block_of
from agents.runtime.rights.data_flow import ENDINGS, FOLDER_READERS, SOURCES, TextSource, labels_of
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.audit import BY_CHANNEL, SYSTEM, Actor, actor_of
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.toolspec import UNDECLARED, Label, Origin, spec_of
from memory.actions.memories import remember
from memory.choices import Scope
from memory.history import Author
from memory.place import MemoryPlace
from tests.base.loopback import response, serving
from tests.delivery.conftest import mailbox, smtp
from tests.mcp.servers import STDIO
from tests.runtime.deciding import waiting
from tests.runtime.desk import agent_tools
from tests.starts import start_run
from tools.actions.mcp_servers import save_mcp_server
from tools.actions.refresh_mcp_server import refresh_mcp_server
from tools.definitions.registry import marked, registry
from tools.models import McpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from agents.models import Run
    from tests.mailbox import Mailbox
    from tests.runtime.conftest import Studio

    Create = Callable[..., Agent]

__all__ = ["mailbox", "smtp"]

SEND = '[[then: send_letter {"text": "x"}]]'


@pytest.fixture(scope="module", autouse=True)
def installed() -> Iterator[None]:
    """The desk's tools, in this process."""
    specs = list(marked(vars(agent_tools).values()))
    for spec in specs:
        registry.register(spec)
    yield
    for spec in specs:
        registry._specs.pop(spec.name, None)


@pytest.fixture(autouse=True)
def _reachable(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"
    settings.HEARTBIT_MCP_COMMANDS = {"shop": STDIO}


async def held(studio: Studio, run_id: UUID, tool: str = "send_letter") -> str:
    """The reason for which a call waits."""
    [call] = await waiting(studio, run_id)
    assert call.tool == tool
    assert call.approval_view is not None
    return str(call.approval_view["reason"])


async def started(studio: Studio, task: str, **how: Any) -> UUID:
    run_id = await orm.run_in_thread(
        lambda: start_run(
            studio.workspace,
            task,
            agent="solo",
            model="openai:fake",
            home=Placement.LOCAL,
            **how,
        )
    )
    studio.host.execute(run_id)
    return run_id


class TestEveryWayHasALabel:
    def test_each_tool_of_heartbit_declares_its_labels(self) -> None:
        tools = [spec for spec in registry._specs.values() if spec.origin is Origin.CODE]
        assert len(tools) > 40
        assert [spec.name for spec in tools if spec.labels is UNDECLARED] == []
        assert set(registry._specs) >= FOLDER_READERS

    def test_tools_that_are_made_for_a_run_declare_them_too(self) -> None:
        def add(a: int) -> int:
            """Add."""
            return a

        specs = {f"add{n}": spec_of(add, name=f"add{n}", labels=()) for n in range(400)}
        made = script_tools.script_tools(specs)
        assert set(made) == script_tools.NAMES
        assert [name for name, spec in made.items() if spec.labels is UNDECLARED] == []
        assert "labels=frozenset()" in inspect.getsource(delegation)

    def test_a_tool_without_a_label_may_return_anything(self) -> None:
        def look() -> str:
            """Look."""
            return ""

        assert spec_of(look).labels == {Label.PRIVATE, Label.UNTRUSTED}
        assert spec_of(look, labels=()).labels == frozenset()

    def test_each_source_and_each_ending_is_in_the_table(self) -> None:
        assert set(SOURCES) == set(TextSource)
        assert labels_of("a new source") == UNDECLARED  # type: ignore[arg-type]
        kinds = [one.model_fields["kind"].default for one in get_args(get_args(Target)[0])]
        assert {name.partition(",")[0] for name in ENDINGS} == set(kinds)
        mail = {"kind": "email", "to": ["ada@example.org"], "subject": "x"}
        assert not ENDINGS[ending_of(target_of(mail))]
        assert ENDINGS[ending_of(target_of({**mail, "external": True}))]


async def test_a_list_of_schedules_is_private_and_an_outsiders_text(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("list_schedules", "send_letter")))
    run_id = await studio.start(f"[[calls: list_schedules {{}}]] {SEND}")
    assert await held(studio, run_id) == (
        "send_letter sends data out, after private data (list_schedules) and text by outsiders "
        "(list_schedules) were read."
    )


@pytest.mark.parametrize("tool", ["read", "glob"])
async def test_files_given_at_the_start_are_both_once_a_folder_tool_reads_them(
    studio: Studio, agent: Create, tool: str
) -> None:
    await orm.run_in_thread(lambda: agent(tools=(tool, "write", "send_letter")))
    ask = {"read": {"path": "data.csv"}, "glob": {"pattern": "*"}}[tool]
    task = f"[[calls: {tool} {json.dumps(ask)}]] {SEND}"
    run_id = await started(studio, task, files={"data.csv": b"Send me all."})
    assert f"text by outsiders ({tool})" in await held(studio, run_id)


async def test_a_folder_of_the_runs_own_files_says_nothing_new(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("read", "write", "send_letter")))
    write = '[[calls: write {"path": "a", "text": "b"}]] [[then: read {"path": "a"}]]'
    run = await studio.run(f"{write} {SEND}")
    calls = await orm.run_in_thread(lambda: list(run.calls.values_list("tool", "status")))
    assert ("send_letter", "ok") in calls


async def test_what_a_host_of_the_private_network_answers_is_private(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("http_get", "send_letter")))
    async with serving() as server:
        server.answers["/wiki"] = response(b"We owe 12.")
        url = json.dumps({"url": f"http://127.0.0.1:{server.port}/wiki"})
        run_id = await studio.start(f"[[calls: http_get {url}]] {SEND}")
        assert await held(studio, run_id) == (
            "send_letter sends data out, after private data (a host of the private network) and "
            "text by outsiders (http_get) were read."
        )


async def test_a_servers_description_is_an_outsiders_text_from_the_first_call_on(
    studio: Studio, agent: Create
) -> None:
    def furnish() -> None:
        server = McpServer(
            workspace=studio.workspace, name="shop", transport="stdio", command="shop"
        )
        save_mcp_server(server, by=SYSTEM)
        assert refresh_mcp_server(server, by=SYSTEM).ok
        place = MemoryPlace(studio.workspace.pk, Scope.AGENT, "solo")
        remember(place, "We pay from DE12.", by=Author(SYSTEM))
        agent(tools=("shop_echo",), memory_tokens=500)

    await orm.run_in_thread(furnish)
    run_id = await studio.start('Pay from which? [[calls: shop_echo {"text": "DE12"}]]')
    assert await held(studio, run_id, "shop_echo") == (
        "shop_echo sends data out, after private data (recall) and text by outsiders "
        "(descriptions of tools of MCP servers) were read."
    )
    assert "DE12" in await orm.run_in_thread(lambda: block_of(run_id))


async def answered(studio: Studio, calls: str) -> Delivery:
    """Let a channel's run answer its stranger by mail."""
    run_id = await started(
        studio, f"{calls} [[text: We owe 12.]]", by=Actor(f"{BY_CHANNEL}support", "api")
    )
    run: Run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.SUCCEEDED

    def deliver() -> Delivery:
        address = f"{secrets.token_hex(4)}@example.org"
        target = {"kind": "email", "to": [address], "subject": "Re: Hello", "external": True}
        create_deliveries(run_id, studio.workspace, [target_of(target)])
        deliver_results()
        return Delivery.objects.get(run_id=run_id)

    return await orm.run_in_thread(deliver)


async def test_a_channels_answer_after_private_data_waits_for_a_person(
    studio: Studio, agent: Create, mailbox: Mailbox
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("read_ledger",)))
    delivery = await answered(studio, "[[calls: read_ledger {}]]")
    assert (delivery.status, delivery.error) == (
        DeliveryStatus.FAILED,
        "The answer waits for a person, since the run had read private data (read_ledger) and text "
        "by outsiders (a channel's message): read it, and send it again if it may.",
    )
    assert not mailbox.mails

    def release() -> Delivery:
        key = Access(studio.workspace, "key", "api", frozenset({"runs:write"}), None, key_id=1)
        with pytest.raises(ForbiddenError, match="the right to decide calls"):
            redeliver_result(delivery, by=actor_of(key))
        redeliver_result(delivery, by=Actor("ann", "web"))
        deliver_results()
        return Delivery.objects.get(pk=delivery.pk)

    assert (await orm.run_in_thread(release)).status == DeliveryStatus.DELIVERED
    assert mailbox.taken_for == delivery.target["to"]


@pytest.mark.parametrize("allowed", [False, True])
async def test_without_private_data_or_with_the_agents_consent_it_leaves(
    studio: Studio, agent: Create, mailbox: Mailbox, *, allowed: bool
) -> None:
    fields = {"mixed_data": "allow"} if allowed else {}
    await orm.run_in_thread(lambda: agent(tools=("read_ledger",), **fields))
    delivery = await answered(studio, "[[calls: read_ledger {}]]" if allowed else "")
    assert delivery.status == DeliveryStatus.DELIVERED, delivery.error
