"""Questions of MCP servers: a wait of the run, and the call made again with the reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.waits import answer_wait
from agents.choices import RunStatus
from agents.errors import InvalidEditError
from agents.live.follow import wait_for_end
from agents.models import Agent, Run, RunEvent, Wait
from agents.reads.questions import question_of
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from tests.mcp.servers import http_server
from tools.actions.mcp_servers import save_mcp_server
from tools.actions.refresh_mcp_server import refresh_mcp_server
from tools.models import McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
ANNE = Actor("anne", via="web")
ORDER = '[[calls: shop_order {"what": "tea"}]] [[text: Done.]]'


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server() as found:
        yield found


@pytest.fixture(autouse=True)
def _allowed(settings: Settings) -> None:
    settings.HEARTBIT_HTTP_ALLOWLIST = "127.0.0.1:*"


@pytest.fixture
def shop(workspace: Workspace, url: str) -> None:
    server = McpServer(workspace=workspace, name="shop", url=url)
    save_mcp_server(server, by=ANNE)
    assert refresh_mcp_server(server, by=ANNE).ok


async def asked(run_id: UUID) -> Wait:
    """The open wait of a run, once it has one."""
    async with asyncio.timeout(30):
        while True:
            rows = Wait.objects.filter(run=run_id, resolved_at=None).select_related(
                "run__workspace"
            )
            found = await orm.run_in_thread(rows.first)
            if found is not None:
                return found
            await asyncio.sleep(0.05)


def results(run: Run) -> list[tuple[str, str]]:
    return [(call.status, call.result or "") for call in run.calls.order_by("id")]


@pytest.mark.parametrize(
    ("answer", "ordered"),
    [({"size": "large"}, "ordered tea: large"), (None, "ordered tea: decline")],
)
async def test_the_call_is_made_again_with_the_reply(
    studio: Studio, agent: Create, shop: None, answer: Any, ordered: str
) -> None:
    await orm.run_in_thread(partial(agent, tools=("shop_order",)))
    run_id = await studio.start(ORDER)
    wait = await asked(run_id)
    question = await orm.run_in_thread(partial(question_of, wait))
    assert question.text == "The MCP server shop asks: Which size of tea?"
    assert question.form["properties"].keys() == {"size"}
    with pytest.raises(InvalidEditError, match="does not fit"):
        await orm.run_in_thread(partial(answer_wait, wait, {"colour": "red"}, by=ANNE))
    await orm.run_in_thread(partial(answer_wait, wait, answer, by=ANNE))
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.SUCCEEDED
    assert await orm.run_in_thread(partial(results, run)) == [("ok", ordered)]
    kinds = RunEvent.objects.filter(run=run_id).order_by("seq").values_list("type", flat=True)
    found = [one for one in await orm.run_in_thread(lambda: list(kinds)) if one.startswith("tool.")]
    assert found == ["tool.started", "tool.started", "tool.finished"]
