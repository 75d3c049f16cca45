"""On real workers: an answer survives the death of the worker that waits for it, and loops end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from agents.choices import RunStatus
from agents.models import Agent, Message, Run, ToolCall
from tests.fleet import wait_until
from tests.messaging.conftest import ALL, ping_pong
from tests.runtime.test_fleet import ended, events, own_worker
from tests.starts import start_run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.fleet import Worker

__all__ = ["own_worker"]  # a fixture

Create = Callable[..., Agent]


def test_an_asker_whose_worker_is_killed_gets_its_answer(
    workspace: Workspace, agent: Create, own_worker: Callable[..., Worker]
) -> None:
    for name in ("one", "two"):
        agent(name, tools=ALL, queue="q-ask")
    victim = own_worker("q-ask")
    question = {"to": "two", "question": "Why? [[latency: 1500]] [[text: Because.]]"}
    run_id = start_run(
        workspace,
        f"[[calls: ask_agent {json.dumps(question)}]] [[text: I see.]]",
        agent="one",
        model="openai:fake",
    )
    wait_until(lambda: Run.objects.filter(parent=run_id, status=RunStatus.RUNNING).exists())
    asker = Run.objects.get(pk=run_id)
    assert (asker.status, asker.worker_id) == (RunStatus.WAITING, None), "it holds no worker"
    victim.kill()
    own_worker("q-ask")
    run = ended(run_id)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "I see.")
    assert ToolCall.objects.get(run=run).result == "two: Because."
    assert [child.output for child in run.children.all()] == ["Because."], "asked once"
    assert Message.objects.filter(workspace=workspace).count() == 1
    assert len(events(run_id, "model.answered")) == 2


def test_two_agents_that_start_each_other_stop_by_themselves(
    workspace: Workspace, agent: Create, worker: Worker
) -> None:
    for name in ("one", "two"):
        agent(name, tools=ALL)
    script = ping_pong("start_agent", "task", ("one", "two"), 10)
    start_run(workspace, script, agent="one", model="openai:fake")
    runs = Run.objects.filter(workspace=workspace)
    wait_until(lambda: runs.filter(finished_at__isnull=False).count() == 10, what="ten runs")
    assert set(runs.values_list("status", flat=True)) == {RunStatus.SUCCEEDED}
    sent = Message.objects.filter(workspace=workspace).order_by("hops")
    assert [message.hops for message in sent] == list(range(9))
    refused = ToolCall.objects.get(run__workspace=workspace, status="error")
    assert "9 messages in a row" in (refused.result or "")
