"""MCP: the time that the client adds to a call, and what 1,000 tools in a catalogue cost.

The tools are those of four MCP servers, since one server is refused more than 256.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import mcp_types
from django.contrib.auth.models import User
from django.test import Client

from heartbit_site.base import aio
from heartbit_site.base.access import Access
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace
from heartbit_site.base.scopes import SCOPES
from heartbit_site.operations.tools import list_tools
from tests.bench.figures import Figure, Row
from tests.bench.said import say
from tests.interop.servers.overhead import TARGET_MS, measured
from tools.actions.mcp_servers import set_mcp_server
from tools.actions.read_mcp_server import Reading
from tools.actions.refresh_mcp_server import store_reading
from tools.mcp.listing import Offer
from tools.mcp.specs import server_tools
from tools.models import McpServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bench.plan import Plan

SERVERS: Final = 4
EACH: Final = 250
BOUND: Final = 20  # tools of one agent
ROUNDS: Final = 15
OFFER_MS: Final = 10.0
REQUEST_MS: Final = 50.0
PAGE_MS: Final = 300.0


def call(_plan: Plan) -> Row:
    """MCP: a call over Streamable HTTP, beside the same request sent by httpx alone."""
    say("MCP: a tool of a server over Streamable HTTP")
    found = aio.run(measured())
    figure = Figure("overhead of a call, p50", found["overhead_p50_ms"], target=TARGET_MS)
    return Row("MCP", "Streamable HTTP", (figure,), found)


def catalogue(_plan: Plan) -> Row:
    """CATALOGUE: the offer to a model, a page of the API and one of the admin, at 1,000 tools."""
    say(f"CATALOGUE: {SERVERS * EACH} tools of {SERVERS} MCP servers")
    few, many = _workspace(servers=1, each=BOUND), _workspace(servers=SERVERS, each=EACH)
    user = User.objects.create(username=f"bench-{new_id()}", is_staff=True, is_superuser=True)
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    names = [f"s0_tool_{number}" for number in range(BOUND)]
    times: dict[str, dict[str, float]] = {}
    for title, workspace in (("20 tools", few), ("1,000 tools", many)):
        times[title] = {
            "offer": _median_ms(partial(_offer, workspace, names)),
            "request": _median_ms(partial(_request, workspace)),
            "page": _median_ms(partial(_page, client, workspace)),
        }
    for row in (few, many):
        row.delete()
    user.delete()
    now = times["1,000 tools"]
    figures = (
        Figure(f"offer of {BOUND} of them to a model, p50", now["offer"], target=OFFER_MS),
        Figure("request of a page of the API, p50", now["request"], target=REQUEST_MS),
        Figure("page of the admin, p50", now["page"], target=PAGE_MS),
    )
    return Row("CATALOGUE", "1,000 tools", figures, {"ms": times})


def _workspace(*, servers: int, each: int) -> Workspace:
    """Return a workspace whose catalogue has the tools of some servers."""
    made = Workspace.objects.create(slug=f"bench-{new_id()}"[:50], name="Bench")
    for number in range(servers):
        server = McpServer(workspace=made, name=f"s{number}")
        set_mcp_server(server, {"url": "https://mcp.example.com/mcp"}, by=SYSTEM)
        tools = {f"tool-{index}": _tool(number, index) for index in range(each)}
        store_reading(server, Reading(Offer(tools, {})), by=SYSTEM)
    return made


def _tool(server: int, index: int) -> mcp_types.Tool:
    """Return a tool with three parameters, as those of everyday servers have."""
    text = {"type": "string", "description": "Words to look for in the titles of the documents."}
    return mcp_types.Tool(
        name=f"tool-{index}",
        description=f"Find documents of the collection {server}.{index} by their titles.",
        input_schema={
            "type": "object",
            "properties": {"words": text, "most": {"type": "integer"}, "after": text},
            "required": ["words"],
        },
    )


def _offer(workspace: Workspace, names: list[str]) -> None:
    no_pool: Any = None  # an offer looks the tools up and calls none
    found = server_tools(workspace.pk, names, no_pool)
    if len(found) != len(names):
        raise RuntimeError(f"{len(found)} tools were offered, not {len(names)}")


def _request(workspace: Workspace) -> None:
    page = list_tools(Access(workspace, "bench", "api", frozenset(SCOPES), None))
    if not page.model_dump_json():
        raise RuntimeError("the page is empty")


def _page(client: Client, workspace: Workspace) -> None:
    answer: Any = client.get(f"/admin/tools/cataloguetool/?workspace__id__exact={workspace.pk}")
    if answer.status_code != 200 or b"s0_tool_0" not in answer.content:
        raise RuntimeError(f"the admin's page of tools answered {answer.status_code}")


def _median_ms(act: Callable[[], None]) -> float:
    act()
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        act()
        taken.append(time.perf_counter() - began)
    return round(statistics.median(taken) * 1_000, 2)
