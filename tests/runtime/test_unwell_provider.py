"""Runs whose provider is unwell: another model answers, or they wait and go on when it is back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from agents.choices import RunStatus
from agents.live.follow import wait_for_end
from agents.llm.wrappers import circuit
from agents.models import Agent, Run
from heartbit_site.base import orm
from heartbit_site.base.models import UsageEntry

if TYPE_CHECKING:
    from tests.fleet import WireServer
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]

DOWN = "[[error: 503]] [[text: Never.]]"


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit that opens for two seconds."""
    monkeypatch.setattr(circuit, "OPEN_SECONDS", 2.0)


async def break_circuit(studio: Studio, agent: Create) -> None:
    """Let the provider fail five calls in a row."""
    await orm.run_in_thread(lambda: agent("unlucky", max_retries=4, retry_base_delay_ms=1))
    run = await studio.run(DOWN, agent="unlucky")
    assert run.status == RunStatus.FAILED


async def test_given_an_open_circuit_then_the_next_model_answers_and_nothing_is_sent(
    studio: Studio, agent: Create, wire_server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await break_circuit(studio, agent)
    await orm.run_in_thread(lambda: agent("wise", fallback_models=["compatible:second"]))
    monkeypatch.setenv("COMPATIBLE_BASE_URL", wire_server.url)
    before = wire_server.stats()["requests"]
    run = await studio.run("[[text: Here.]]", agent="wise")
    assert run.output == "Here."
    assert wire_server.stats()["requests"] - before == 1
    usage = await orm.run_in_thread(lambda: UsageEntry.objects.get(run_id=run.pk))
    assert usage.model == "compatible:second"


@pytest.mark.usefixtures("soon")
async def test_given_no_other_model_then_the_run_waits_without_a_worker_and_goes_on(
    studio: Studio, agent: Create, wire_server: WireServer
) -> None:
    await break_circuit(studio, agent)
    await orm.run_in_thread(lambda: agent(max_retries=0))
    before = wire_server.stats()["requests"]
    run_id = await studio.start("[[text: At last.]]")
    run = await wait_for_end(run_id, studio.host.window)
    assert run.output == "At last."
    assert wire_server.stats()["requests"] - before == 1, "nothing was sent while it was open"
    delayed = [event for event in await studio.events(run) if event.type == "model.delayed"]
    assert delayed, "it gave its worker back meanwhile"
    assert all(event.payload["attempts"] == 0 for event in delayed)
    assert all("not called for" in event.payload["reason"] for event in delayed)


@pytest.mark.usefixtures("soon")
async def test_given_a_provider_that_comes_back_then_all_that_waited_go_on(
    studio: Studio, agent: Create
) -> None:
    await break_circuit(studio, agent)
    await orm.run_in_thread(agent)
    waiting = [await studio.start(f"[[text: Answer {number}.]]") for number in range(5)]
    runs: list[Run] = [await wait_for_end(run_id, studio.host.window) for run_id in waiting]
    assert [run.output for run in runs] == [f"Answer {number}." for number in range(5)]
