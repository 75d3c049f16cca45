"""Approvals while a client waits: one decision, one effect, whatever dies in between."""

from __future__ import annotations

import concurrent.futures
import os
import signal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import openai
import pytest

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Run, ToolBinding, ToolCall
from tests.api.server import WebServer
from tests.fleet import wait_until

if TYPE_CHECKING:
    from openai import OpenAI

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller

SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
MESSAGES: Any = [{"role": "user", "content": SUM}]


@pytest.fixture(autouse=True)
def _asks(client: OpenAI, workspace: Workspace) -> None:
    """Calls of the analyst's tool wait for a person."""
    agent = Agent.objects.get(workspace=workspace, name="analyst")
    ToolBinding.objects.filter(agent=agent, tool="calculate").update(approval="always")
    publish_agent(agent)


def approve(caller: Caller) -> str:
    """Approve the one call that waits; return its run."""
    [call] = wait_until(lambda: caller.get("/approvals").json()["calls"], what="it waits")
    place = f"/runs/{call['run_id']}/calls/{call['call_id']}/decision"
    decided = caller.post(place, {"digest": call["digest"], "verdict": "approve"})
    assert decided.status_code == 200, decided.text
    return str(call["run_id"])


def test_the_answer_comes_after_the_decision(client: OpenAI, caller: Caller) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(
            lambda: client.chat.completions.create(model="analyst", messages=MESSAGES)
        )
        run_id = approve(caller)
        found = asked.result(60)
    assert found.id == f"chatcmpl-{run_id}"
    assert found.choices[0].message.content == "Done."


def test_a_web_process_that_dies_meanwhile_repeats_nothing(
    client: OpenAI, caller: Caller, workspace: Workspace
) -> None:
    body: Any = {"model": "analyst", "messages": MESSAGES}
    with WebServer() as first, concurrent.futures.ThreadPoolExecutor() as pool:
        lost = client.with_options(base_url=f"{first.url}/v1")
        asked = pool.submit(lambda: lost.chat.completions.create(**body))
        wait_until(lambda: caller.get("/approvals").json()["calls"], what="it waits")
        os.kill(first.pid, signal.SIGKILL)
        with pytest.raises(openai.APIConnectionError):
            asked.result(60)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        tries = {"x-stainless-retry-count": "1"}
        again = pool.submit(lambda: client.chat.completions.create(**body, extra_headers=tries))
        run_id = approve(caller)
        found = again.result(60)
    assert found.id == f"chatcmpl-{run_id}"
    assert Run.objects.filter(task=SUM, workspace=workspace).count() == 1
    assert ToolCall.objects.filter(run=UUID(run_id)).count() == 1
