"""The state store as tools: across runs, once after a crash, within the workspace's limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions import state
from agents.models import Run, StateEntry, ToolCall
from heartbit_site.base import orm

if TYPE_CHECKING:
    from tests.runtime.conftest import Studio

Create = Callable[..., Any]


async def calls_of(run: Run) -> list[ToolCall]:
    return await orm.run_in_thread(lambda: list(run.calls.order_by("pk")))


TOOLS = ("state_get", "state_set", "state_exists", "state_delete")


async def test_a_later_run_reads_what_an_earlier_one_kept(studio: Studio, agent: Create) -> None:
    await orm.run_in_thread(lambda: agent(tools=TOOLS))
    first = await studio.run(
        '[[calls: state_set {"key": "n", "value": {"page": 3}, "ttl_seconds": 60}]] [[text: Kept.]]'
    )
    (kept,) = await calls_of(first)
    assert (kept.status, kept.effect) == ("ok", "transactional")
    second = await studio.run(
        '[[calls: state_get {"key": "n"}, state_get {"key": "n", "scope": "workspace"}]]'
        '[[then: state_delete {"key": "n"}]] [[then: state_exists {"key": "n"}]] [[text: Done.]]'
    )
    results = [call.result for call in await calls_of(second)]
    assert results == [
        '{"found":true,"value":{"page":3}}',
        '{"found":false}',
        "Deleted 'n'.",
        "false",
    ]


async def test_a_full_store_refuses_new_keys_alone(
    studio: Studio, agent: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "MOST_ENTRIES", 1)
    await orm.run_in_thread(lambda: agent(tools=TOOLS))
    run = await studio.run(
        '[[calls: state_set {"key": "a", "value": 1}]] [[then: state_set {"key": "b", "value": 2}]]'
        '[[then: state_set {"key": "a", "value": 3}]] [[text: Done.]]'
    )
    assert [call.status for call in await calls_of(run)] == ["ok", "error", "ok"]
    rows = StateEntry.objects.filter(workspace=studio.workspace)
    assert await orm.run_in_thread(lambda: list(rows.values_list("key", "value"))) == [("a", 3)]
